// The engine, compiled for AVX2 (setup.py).

#include "engine.hpp"
