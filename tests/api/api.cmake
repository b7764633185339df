# What the tests of the public interface need besides test_api: the examples, the headers on their own, and a project
# that finds the installed library.
enable_language(C)

set(library libnarthex_static)
if(NARTHEX_SHARED)
  set(library libnarthex)
endif()
add_executable(example_cpp ${PROJECT_SOURCE_DIR}/examples/embed.cpp)
set_target_properties(example_cpp PROPERTIES CXX_STANDARD 17)
add_executable(example_c ${PROJECT_SOURCE_DIR}/examples/embed.c)
set_target_properties(example_c PROPERTIES C_STANDARD 99 C_EXTENSIONS OFF)
foreach(example example_cpp example_c)
  target_compile_options(${example} PRIVATE -Wall -Wextra -pedantic -Werror)
  target_link_libraries(${example} PRIVATE ${library})
  if(NARTHEX_SANITIZE)
    target_link_options(${example} PRIVATE -fsanitize=${NARTHEX_SANITIZE})
  endif()
endforeach()

if(TARGET test_api)
  add_dependencies(test_api example_cpp example_c)
  target_compile_definitions(test_api PRIVATE
    NARTHEX_CXX="${CMAKE_CXX_COMPILER}"
    NARTHEX_CC="${CMAKE_C_COMPILER}"
    NARTHEX_EXAMPLE_CPP="$<TARGET_FILE:example_cpp>"
    NARTHEX_EXAMPLE_C="$<TARGET_FILE:example_c>"
    NARTHEX_SHARED_LIBRARY="$<$<BOOL:${NARTHEX_SHARED}>:$<TARGET_FILE:${library}>>")
endif()

set(strict -Wall -Wextra -pedantic -Werror -fsyntax-only)
set(headers ${PROJECT_SOURCE_DIR}/include/narthex)
add_test(NAME api_header_c11 COMMAND ${CMAKE_C_COMPILER} -std=c11 ${strict} -x c ${headers}/narthex.h)
add_test(NAME api_header_c99 COMMAND ${CMAKE_C_COMPILER} -std=c99 ${strict} -x c ${headers}/narthex.h)
add_test(NAME api_header_c_as_cpp COMMAND ${CMAKE_CXX_COMPILER} -std=c++17 ${strict} -x c++ ${headers}/narthex.h)
add_test(NAME api_header_cpp17 COMMAND ${CMAKE_CXX_COMPILER} -std=c++17 ${strict} -x c++ ${headers}/narthex.hpp)
add_test(NAME api_header_no_exceptions
  COMMAND ${CMAKE_CXX_COMPILER} -std=c++20 -fno-exceptions -fno-rtti ${strict} -x c++ ${headers}/narthex.hpp)

# A sanitized library asks its user for the same sanitizer, which a project outside does not have.
if(NOT NARTHEX_SANITIZE)
  add_test(NAME api_installed COMMAND ${CMAKE_COMMAND}
    -DBUILD=${CMAKE_BINARY_DIR} -DEXAMPLES=${PROJECT_SOURCE_DIR}/examples -DSHARED=${NARTHEX_SHARED}
    -DGENERATOR=${CMAKE_GENERATOR} -P ${PROJECT_SOURCE_DIR}/tests/api/installed_tree.cmake)
  set_tests_properties(api_installed PROPERTIES TIMEOUT 300)
endif()
