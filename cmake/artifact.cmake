# engine_id.h for src/artifact/identity.cc: a build from other sources must not run what this one has compiled.
set(engine_id ${CMAKE_BINARY_DIR}/generated/engine_id.h)
file(GLOB_RECURSE engine_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/*.cc ${PROJECT_SOURCE_DIR}/src/*.h
  ${PROJECT_SOURCE_DIR}/src/*.def)
list(FILTER engine_sources INCLUDE REGEX "/src/(base|text|kernels|onnx|graph|ops|passes|plan|artifact|models)/")
add_custom_command(OUTPUT ${engine_id}
  COMMAND ${CMAKE_COMMAND} -DSOURCE_DIR=${PROJECT_SOURCE_DIR}/src -DOUTPUT=${engine_id}
    -P ${PROJECT_SOURCE_DIR}/cmake/engine_id.cmake
  DEPENDS ${engine_sources} ${PROJECT_SOURCE_DIR}/cmake/engine_id.cmake)
# A target of its own, for what reads the sources without building them (`make lint`).
add_custom_target(generated_headers DEPENDS ${engine_id})
add_dependencies(nx_artifact generated_headers)
target_sources(nx_artifact PRIVATE ${engine_id})
target_include_directories(nx_artifact PRIVATE ${CMAKE_BINARY_DIR}/generated)
