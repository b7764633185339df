# The library as others use it: libnarthex.a, libnarthex.so (with NARTHEX_SHARED), and what `cmake --install` puts where.
#
# Both are made of the objects that the layers are compiled to anyway: nothing is compiled twice.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(library_layers base text hub kernels onnx graph ops passes plan artifact models api)
set(library_objects "")
foreach(layer ${library_layers})
  list(APPEND library_objects $<TARGET_OBJECTS:nx_${layer}>)
endforeach()
# Of other people's libraries; narthex-config.cmake.in and narthex.pc.in name the same.
set(library_needs OpenSSL::SSL OpenSSL::Crypto minizip z b2 Threads::Threads)

file(WRITE ${CMAKE_BINARY_DIR}/empty_library.cc "")
add_library(libnarthex_static STATIC ${CMAKE_BINARY_DIR}/empty_library.cc ${library_objects})
target_link_libraries(libnarthex_static PUBLIC ${library_needs})
set_target_properties(libnarthex_static PROPERTIES OUTPUT_NAME narthex EXPORT_NAME narthex_static)
set(installed_libraries libnarthex_static)

if(NARTHEX_SHARED)
  set(exports ${PROJECT_SOURCE_DIR}/cmake/narthex.map)
  add_library(libnarthex SHARED ${CMAKE_BINARY_DIR}/empty_library.cc $<TARGET_OBJECTS:nx_api>)
  target_link_libraries(libnarthex PRIVATE nx_models)
  # hidden visibility does not reach the standard library's templates: the map alone says what is exported
  target_link_options(libnarthex PRIVATE -Wl,--version-script=${exports} -Wl,-z,defs -Wl,--gc-sections)
  set_target_properties(libnarthex PROPERTIES OUTPUT_NAME narthex EXPORT_NAME narthex LINK_DEPENDS ${exports}
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
  list(APPEND installed_libraries libnarthex)
endif()
foreach(library ${installed_libraries})
  target_include_directories(${library} INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
endforeach()

install(TARGETS narthex RUNTIME)
install(TARGETS ${installed_libraries} EXPORT narthex-targets ARCHIVE LIBRARY)
install(DIRECTORY include/narthex DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/narthex)
install(EXPORT narthex-targets NAMESPACE narthex:: DESTINATION ${package_folder})
configure_file(cmake/narthex-config.cmake.in ${CMAKE_BINARY_DIR}/narthex-config.cmake @ONLY)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/narthex-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/narthex-config.cmake ${CMAKE_BINARY_DIR}/narthex-config-version.cmake
  DESTINATION ${package_folder})
configure_file(cmake/narthex.pc.in ${CMAKE_BINARY_DIR}/narthex.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/narthex.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

if(NARTHEX_TESTS)
  include(tests/api/api.cmake)
endif()
