# One test program per folder of tests/, linked with the layer of the same name. Small data lies beside the tests.
# Folders that test across layers name theirs here.
set(layer_of_conformance ops)
find_package(GTest REQUIRED)
include(GoogleTest)
file(GLOB folders CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/tests ${PROJECT_SOURCE_DIR}/tests/*)
foreach(folder ${folders})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/${folder}/*.cc)
  set(layer ${folder})
  if(DEFINED layer_of_${folder})
    set(layer ${layer_of_${folder}})
  endif()
  if(sources AND TARGET nx_${layer})
    add_executable(test_${folder} ${sources})
    target_link_libraries(test_${folder} PRIVATE nx_${layer} GTest::gmock GTest::gtest_main)
    target_include_directories(test_${folder} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
    target_compile_definitions(test_${folder} PRIVATE
      NARTHEX_TEST_DATA="${PROJECT_SOURCE_DIR}/tests/${folder}/data"
      NARTHEX_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
      NARTHEX_BINARY="$<TARGET_FILE:narthex>")
    add_test(NAME ${folder} COMMAND test_${folder})
    set_tests_properties(${folder} PROPERTIES TIMEOUT 900)
  endif()
endforeach()
