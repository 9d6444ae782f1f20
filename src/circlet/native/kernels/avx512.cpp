// The engine for AVX-512. Each instruction set has a file, so that all are compiled at once.

#include "engine.cpp"
