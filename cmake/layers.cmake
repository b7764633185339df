# nx_layer(NAME [DEPS layer...] [LIBS library...]): the static library nx_NAME from every .cc file in src/NAME.
# Files are found by pattern, so that adding an op, a pass or a command edits no build file.

add_library(nx_flags INTERFACE)
target_compile_options(nx_flags INTERFACE -Wall -Wextra -Werror -ffp-contract=off -fno-math-errno)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # gcc 12 at -O3 takes the value of an std::expected that holds an error for an uninitialised read.
  target_compile_options(nx_flags INTERFACE -Wno-maybe-uninitialized)
endif()
target_compile_definitions(nx_flags INTERFACE FMT_HEADER_ONLY SPDLOG_FMT_EXTERNAL NARTHEX_VERSION="${PROJECT_VERSION}")
target_include_directories(nx_flags INTERFACE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
if(NARTHEX_SANITIZE)
  target_compile_options(nx_flags INTERFACE -fsanitize=${NARTHEX_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(nx_flags INTERFACE -fsanitize=${NARTHEX_SANITIZE})
endif()

function(nx_layer name)
  cmake_parse_arguments(ARG "" "" "DEPS;LIBS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${name}/*.cc)
  if(NOT sources)
    file(WRITE ${CMAKE_BINARY_DIR}/empty_${name}.cc "")
    set(sources ${CMAKE_BINARY_DIR}/empty_${name}.cc)
  endif()
  add_library(nx_${name} STATIC ${sources})
  target_link_libraries(nx_${name} PUBLIC nx_flags ${ARG_LIBS})
  foreach(dep ${ARG_DEPS})
    target_link_libraries(nx_${name} PUBLIC nx_${dep})
  endforeach()
endfunction()
