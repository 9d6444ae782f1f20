// The engine, compiled for any processor (setup.py).

#include "engine.hpp"
