// What a compiled library and the simulated GPU know of each other.
#pragma once

struct msl_item {
    unsigned position[3];
    unsigned local[3];
    unsigned group[3];
    unsigned grid_size[3];
    unsigned group_size[3];
    unsigned groups[3];
    unsigned index;  // within the threadgroup
    unsigned lane;   // within the simdgroup
    unsigned simd;   // number of the simdgroup
    unsigned width;
    unsigned simds;
};

typedef void (*msl_entry)(const msl_item*, void* const* buffers);

extern "C" {
void msl_barrier(unsigned site);
unsigned long msl_exchange(const void* value, unsigned long size, void* shown,
                           unsigned site);
unsigned msl_lane();
void msl_poison(void* memory, unsigned long size);
}
