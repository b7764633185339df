# Instruction-set flags, one file each: nothing else in the program may use instructions that the machine might lack.
# -O3 in every build type: the kernels keep their tiles in registers only when loops are unrolled. Sanitizers check every
# access of the unrolled tiles, and at -O3 gcc then takes minutes for one file. Kernels do not throw, and handlers would
# bring weak symbols, which tools/check_isa_symbols.sh forbids.
set(kernel_flags -O3 -fno-exceptions)
set(plain_flags -O2 -fno-exceptions)
if(NARTHEX_SANITIZE)
  set(kernel_flags -O1 -fno-exceptions)
  set(plain_flags -O1 -fno-exceptions)
endif()
set(isa_dir ${PROJECT_SOURCE_DIR}/src/kernels/isa)
set_source_files_properties(${isa_dir}/scalar.cc ${isa_dir}/tiles_emulated.cc PROPERTIES
  COMPILE_OPTIONS "${plain_flags}")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(avx2 ${kernel_flags} -mavx2 -mfma -mf16c)
  set(avx512 ${avx2} -mavx512f -mavx512bw -mavx512vl -mavx512dq -mavx512cd -mprefer-vector-width=512)
  set_source_files_properties(${isa_dir}/avx2.cc PROPERTIES COMPILE_OPTIONS "${avx2}")
  set_source_files_properties(${isa_dir}/avx512.cc PROPERTIES COMPILE_OPTIONS "${avx512}")
  set_source_files_properties(${isa_dir}/avx2_vnni.cc PROPERTIES COMPILE_OPTIONS "${avx2};-mavxvnni")
  set_source_files_properties(${isa_dir}/avx512_vnni.cc PROPERTIES COMPILE_OPTIONS "${avx512};-mavx512vnni")
  set_source_files_properties(${isa_dir}/amx.cc PROPERTIES
    COMPILE_OPTIONS "${avx512};-mamx-tile;-mamx-int8;-mamx-bf16")
  set_source_files_properties(${isa_dir}/avx512_bf16.cc PROPERTIES COMPILE_OPTIONS "${avx512};-mavx512bf16")
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  set_source_files_properties(${isa_dir}/neon.cc PROPERTIES COMPILE_OPTIONS "${kernel_flags}")
  set_source_files_properties(${isa_dir}/neon_dotprod.cc PROPERTIES
    COMPILE_OPTIONS "${kernel_flags};-march=armv8.2-a+dotprod")
  set_source_files_properties(${isa_dir}/neon_i8mm.cc PROPERTIES
    COMPILE_OPTIONS "${kernel_flags};-march=armv8.2-a+i8mm")
endif()
