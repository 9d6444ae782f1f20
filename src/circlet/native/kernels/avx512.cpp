// The engine, compiled for AVX-512 (setup.py).

#include "engine.hpp"
