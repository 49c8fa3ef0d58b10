// Checks of the kernels for tensors of any rank.
#pragma once
bool test_tensors();
