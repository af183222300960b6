# Debian's packages, with CPack: libtenure<SOVERSION>, libtenure-dev, tenure. scripts/debs builds them; it sets
# TENURE_DEBIAN_VERSION, the prefix /usr and shared libraries.
set(TENURE_DEBIAN_VERSION "" CACHE STRING "The packages' version, e.g. ${PROJECT_VERSION}~deb12 (set by scripts/debs)")
set(TENURE_DEBIAN_CONTACT "" CACHE STRING "Who is named as their maintainer: Name <address>")
if(NOT TENURE_DEBIAN_VERSION)
  return()
endif()
if(NOT BUILD_SHARED_LIBS OR NOT CMAKE_INSTALL_PREFIX STREQUAL "/usr" OR NOT TENURE_BUILD_PROGRAM OR NOT TENURE_DEBIAN_CONTACT)
  message(FATAL_ERROR "TENURE_DEBIAN_VERSION is for scripts/debs: it needs BUILD_SHARED_LIBS and TENURE_BUILD_PROGRAM ON, "
    "CMAKE_INSTALL_PREFIX=/usr and TENURE_DEBIAN_CONTACT")
endif()

set(debian_libraries "libtenure${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}")
set(debian_development libtenure-dev)
set(debian_program tenure)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME tenure)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")  # each package has one of its own
set(CPACK_PACKAGE_CONTACT "${TENURE_DEBIAN_CONTACT}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_COMPONENTS_ALL tenure_libraries tenure_development tenure_program)
set(CPACK_DEBIAN_PACKAGE_VERSION "${TENURE_DEBIAN_VERSION}")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS ON)

# The folders of the libraries in the build tree, for dpkg-shlibdeps.
get_property(libraries GLOBAL PROPERTY TENURE_LIBRARIES)
set(folders "")
foreach(library IN LISTS libraries)
  get_target_property(folder ${library} BINARY_DIR)
  list(APPEND folders "${folder}")
endforeach()
list(REMOVE_DUPLICATES folders)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS "${folders}")

# Public headers include Boost's. Debian's package of them has its version in its name.
execute_process(COMMAND dpkg-query --search "${Boost_INCLUDE_DIRS}/boost/version.hpp" OUTPUT_VARIABLE boost RESULT_VARIABLE code)
if(NOT code EQUAL 0)
  message(FATAL_ERROR "no package has ${Boost_INCLUDE_DIRS}/boost/version.hpp; the packages are built with Debian's Boost")
endif()
string(REGEX REPLACE ":.*" "" boost "${boost}")

set(CPACK_DEBIAN_TENURE_LIBRARIES_PACKAGE_NAME ${debian_libraries})
set(CPACK_DEBIAN_TENURE_LIBRARIES_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_TENURE_LIBRARIES_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_TENURE_LIBRARIES_DESCRIPTION "leader election on a lease, with fencing tokens - libraries
Several copies of a program run; exactly one acts. The libraries choose the
leader among the copies, choose another when it dies or hangs, and number
each term, so that a database can refuse a former leader that wakes up late.
.
The lease is kept in a file, or in a database or cluster that is there.")

set(CPACK_DEBIAN_TENURE_DEVELOPMENT_PACKAGE_NAME ${debian_development})
set(CPACK_DEBIAN_TENURE_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_COMPONENT_TENURE_DEVELOPMENT_DEPENDS tenure_libraries)
set(CPACK_DEBIAN_TENURE_DEVELOPMENT_PACKAGE_DEPENDS "${boost}")
set(CPACK_DEBIAN_TENURE_DEVELOPMENT_PACKAGE_SUGGESTS "libgtest-dev")
set(CPACK_DEBIAN_TENURE_DEVELOPMENT_DESCRIPTION "leader election on a lease, with fencing tokens - headers
Several copies of a program run; exactly one acts. The libraries choose the
leader among the copies, choose another when it dies or hangs, and number
each term, so that a database can refuse a former leader that wakes up late.
.
These are the headers, and the files for CMake and pkg-config.")

set(CPACK_DEBIAN_TENURE_PROGRAM_PACKAGE_NAME ${debian_program})
set(CPACK_DEBIAN_TENURE_PROGRAM_PACKAGE_SECTION admin)
set(CPACK_COMPONENT_TENURE_PROGRAM_DEPENDS tenure_libraries)
set(CPACK_DEBIAN_TENURE_PROGRAM_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_TENURE_PROGRAM_DESCRIPTION "leader election on a lease - run a command on one of several machines
Several copies of a program run; exactly one acts. The tenure program runs
any command while this copy leads, and shows who leads and why.
.
The lease is kept in a file, or in a database or cluster that is there.")

# What Debian wants in the folder of each package. The date is that of the sources, so that two builds are the same.
string(TIMESTAMP TENURE_DEBIAN_YEAR "%Y" UTC)
string(TIMESTAMP TENURE_DEBIAN_DATE "%a, %d %b %Y %H:%M:%S +0000" UTC)
set(generated "${PROJECT_BINARY_DIR}/debian")
foreach(file changelog copyright)
  configure_file("${PROJECT_SOURCE_DIR}/config/debian/${file}.in" "${generated}/${file}" @ONLY)
endforeach()
execute_process(COMMAND gzip -9nkf "${generated}/changelog" COMMAND_ERROR_IS_FATAL ANY)
foreach(part libraries development program)
  install(FILES "${generated}/copyright" "${generated}/changelog.gz" DESTINATION "share/doc/${debian_${part}}"
    COMPONENT tenure_${part})
endforeach()
file(WRITE "${generated}/${debian_libraries}"
  "# One package has all libraries: they are built and used as one release, and most of them are small.\n"
  "${debian_libraries}: package-name-doesnt-match-sonames *\n")
install(FILES "${generated}/${debian_libraries}" DESTINATION share/lintian/overrides COMPONENT tenure_libraries)
# Debian's man pages are compressed. This runs after the rules of cli/, which install them.
install(CODE [[
  file(GLOB_RECURSE pages "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/share/man/*.[1-9]")
  if(pages)
    execute_process(COMMAND gzip -9nf ${pages} COMMAND_ERROR_IS_FATAL ANY)
  endif()
]] COMPONENT tenure_program)

include(CPack)
