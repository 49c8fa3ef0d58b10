// The walk through items, far beyond what a test can run as a grid.
#pragma once
bool test_walk();
