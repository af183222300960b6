# hiredis by the CMake files that it brings, or, where a package has none or none with targets (Debian), by its header and library.
# Gives hiredis::hiredis either way.
find_package(hiredis CONFIG QUIET)
if(NOT TARGET hiredis::hiredis)
  find_path(HIREDIS_INCLUDE_DIR hiredis/hiredis.h)
  find_library(HIREDIS_LIBRARY hiredis)
  mark_as_advanced(HIREDIS_INCLUDE_DIR HIREDIS_LIBRARY)
  if(HIREDIS_INCLUDE_DIR AND HIREDIS_LIBRARY)
    add_library(hiredis::hiredis UNKNOWN IMPORTED)
    set_target_properties(hiredis::hiredis PROPERTIES
      IMPORTED_LOCATION "${HIREDIS_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES "${HIREDIS_INCLUDE_DIR}")
  endif()
endif()
include(FindPackageHandleStandardArgs)
if(TARGET hiredis::hiredis)
  set(HIREDIS_TARGET hiredis::hiredis)
endif()
find_package_handle_standard_args(hiredis REQUIRED_VARS HIREDIS_TARGET)
