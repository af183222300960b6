# yaml-cpp by its own CMake files. Its target has been yaml-cpp::yaml-cpp since 0.8, and yaml-cpp before; here it is the new name.
find_package(yaml-cpp CONFIG QUIET)
if(TARGET yaml-cpp AND NOT TARGET yaml-cpp::yaml-cpp)
  add_library(yaml-cpp::yaml-cpp INTERFACE IMPORTED)
  set_target_properties(yaml-cpp::yaml-cpp PROPERTIES INTERFACE_LINK_LIBRARIES yaml-cpp)
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(yaml-cpp REQUIRED_VARS yaml-cpp_DIR VERSION_VAR yaml-cpp_VERSION)
