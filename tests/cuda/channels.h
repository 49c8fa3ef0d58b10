#pragma once

// The kernels that combine values channel by channel, in every type.
bool test_channels();
