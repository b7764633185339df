// The tile policy of linear_tiles.inl.h on AMX. Included inside the anonymous namespace of isa/amx.cc; the same in
// plain C++ is in tiles_emulated.cc.
//
// Own instructions instead of those of the compiler: gcc 12's intrinsics are macros that put the register number into
// the text, do not declare that loads read memory, and give only part of the configuration as input, so that stores
// before them may be moved or dropped. Compilers do not use tile registers by themselves, hence no clobbers of them.
#pragma once

struct AmxTiles {
  static NX_INLINE void configure() {
    // Palette 1: eight tiles; 16-byte head, then 16 times 2 bytes of row length, then 16 times 1 byte of rows.
    alignas(64) uint8_t config[64] = {1};
    for (int i = 0; i < 8; i++) {
      config[16 + 2 * i] = 64;
      config[48 + i] = 16;
    }
    __asm__ volatile("ldtilecfg (%0)" : : "r"(config) : "memory");
  }
  static NX_INLINE void release() { __asm__ volatile("tilerelease" : : : "memory"); }
  template <int T>
  static NX_INLINE void zero() {
    __asm__ volatile("tilezero %%tmm%c0" : : "i"(T));
  }
  template <int T>
  static NX_INLINE void load(const uint8_t* p, size_t stride) {
    __asm__ volatile("tileloadd (%0,%1,1), %%tmm%c2" : : "r"(p), "r"(stride), "i"(T) : "memory");
  }
  template <int T>
  static NX_INLINE void store(uint8_t* p, size_t stride) {
    __asm__ volatile("tilestored %%tmm%c2, (%0,%1,1)" : : "r"(p), "r"(stride), "i"(T) : "memory");
  }
  // In this syntax the operands stand in reverse: b, a, sums.
  template <int C, int A, int B>
  static NX_INLINE void dot_int8() {
    __asm__ volatile("tdpbusd %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(C), "i"(A), "i"(B));
  }
  template <int C, int A, int B>
  static NX_INLINE void dot_bf16() {
    __asm__ volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(C), "i"(A), "i"(B));
  }
};
