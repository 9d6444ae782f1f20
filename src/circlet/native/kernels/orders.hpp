// The order in which a run trains on its examples in an epoch; dropout draws on from there (`draw`
// in engine.hpp). NumPy (2.4) draws the same as
//
//     stream = Generator(PCG64(SeedSequence(seed, spawn_key=(..., epoch))))
//     order, kept = stream.permutation(n), stream.random((d, n), dtype=float32) >= rate
//
// SeedSequence hashes the words of a seed into a pool of four; PCG64 (O'Neill 2014) is a linear
// congruential generator of 128 bits; Fisher and Yates shuffle, with whole numbers up to i drawn by
// rejection.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>

namespace circlet {

// The hash of SeedSequence: each word is hashed with another constant than the one before.
class Hash {
public:
    Hash(uint32_t constant, uint32_t factor) : constant(constant), factor(factor) {}

    uint32_t operator()(uint32_t word) {
        word ^= constant;
        constant *= factor;
        word *= constant;
        return word ^ word >> 16;
    }

private:
    uint32_t constant, factor;
};

class Generator {
public:
    // Of the words (32 bits each) of a seed, filled up with zeros to four, and of its spawn key.
    Generator(const uint32_t* words, int64_t count) {
        constexpr int POOL = 4;
        uint32_t pool[POOL];
        Hash hash(0x43b0d7e5, 0x931e8875);
        auto mix = [&](uint32_t& into, uint32_t word) {
            uint32_t mixed = 0xca01f9dd * into - 0x4973f715 * hash(word);
            into = mixed ^ mixed >> 16;
        };
        for (int i = 0; i < POOL; ++i) pool[i] = hash(words[i]);
        for (int from = 0; from < POOL; ++from)
            for (int to = 0; to < POOL; ++to)
                if (from != to) mix(pool[to], pool[from]);
        for (int64_t i = POOL; i < count; ++i)
            for (uint32_t& into : pool) mix(into, words[i]);

        Hash expand(0x8b51f9dd, 0x58f38ded);
        // State, then increment; of each the high 64 bits first, and of these the low 32 first.
        Wide numbers[2] = {};
        for (int half = 0; half < 4; ++half) {
            Wide low = expand(pool[2 * half % POOL]), high = expand(pool[(2 * half + 1) % POOL]);
            numbers[half / 2] = numbers[half / 2] << 64 | high << 32 | low;
        }
        increment = numbers[1] << 1 | 1;
        state = increment + numbers[0];
        advance();
    }

    // A number of 32 bits: the low half of a draw of 64, then its high half.
    uint32_t operator()() {
        has_half = !has_half;
        if (!has_half) return half;
        advance();
        uint64_t folded = uint64_t(state >> 64) ^ uint64_t(state);
        int turn = int(state >> 122);
        uint64_t drawn = folded >> turn | folded << (-turn & 63);
        half = uint32_t(drawn >> 32);
        return uint32_t(drawn);
    }

private:
    using Wide = unsigned __int128;
    Wide state, increment;
    uint32_t half = 0;
    bool has_half = false;

    void advance() {
        state = state * (Wide(2549297995355413924u) << 64 | 4865540595714422341u) + increment;
    }
};

// Shuffles 0, 1, ..., n - 1; n is at least 1.
inline void shuffle(Generator& draw, int32_t n, int32_t* order) {
    std::iota(order, order + n, 0);
    uint32_t mask = 0xffffffff;  // the smallest 2^k - 1 that is not below i
    for (uint32_t i = n - 1; i > 0;) {
        while (mask >> 1 >= i) mask >>= 1;
        for (uint32_t below = mask >> 1; i > below;) {
            // A rejected j swaps nothing: a branch would often be mispredicted.
            uint32_t j = draw() & mask;
            std::swap(order[i], order[std::min(i, j)]);
            i -= j <= i;
        }
    }
}

}  // namespace circlet
