# bench/NAME.cc -> NAME, built only when asked for: ninja -C build/release kernels_bench
foreach(name kernels_bench tokenizer_bench)
  add_executable(${name} EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/bench/${name}.cc)
endforeach()
target_link_libraries(kernels_bench PRIVATE nx_kernels)
target_link_libraries(tokenizer_bench PRIVATE nx_text)
