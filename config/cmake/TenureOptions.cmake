# What is built, and the libraries of others that it needs.
#
# A part with a library of others has an option with three values:
#   AUTO  it is built where all that it needs is there; configuring prints which parts are left out, and why
#   ON    it is required: configuring fails where something is missing
#   OFF   it is left out, and what it needs is not looked for

# As a part of another project (add_subdirectory, FetchContent) only the libraries are made.
option(TENURE_BUILD_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(TENURE_BUILD_EXAMPLES "Build the examples" ${PROJECT_IS_TOP_LEVEL})
option(TENURE_BUILD_BENCH "Build the benchmarks" ${PROJECT_IS_TOP_LEVEL})
option(TENURE_BUILD_PROGRAM "Build the tenure program" ${PROJECT_IS_TOP_LEVEL})
option(TENURE_PAPERS "Make man pages and shell completion of the program (needs Python)" ${PROJECT_IS_TOP_LEVEL})
option(TENURE_BUILD_FUZZERS "Build the fuzzers (needs clang)" OFF)
option(TENURE_INSTALL "Create install rules" ${PROJECT_IS_TOP_LEVEL})
option(TENURE_WERROR "Treat warnings as errors (set by the presets)" OFF)
set(TENURE_SANITIZE "" CACHE STRING "Sanitizers for every target, e.g. address,undefined (set by the presets)")
option(TENURE_COVERAGE "Instrument for coverage" OFF)

# Packages of others, as find_package takes them, each with Debian's name for who lacks it.
set(tenure_find_SQLite3 SQLite3)
set(tenure_find_yaml-cpp yaml-cpp MODULE)  # by find/, which knows the names of every version
set(tenure_find_OpenSSL OpenSSL 3.0)
set(tenure_find_PostgreSQL PostgreSQL 14)
set(tenure_find_hiredis hiredis MODULE)
set(tenure_debian_SQLite3 libsqlite3-dev)
set(tenure_debian_yaml-cpp libyaml-cpp-dev)
set(tenure_debian_OpenSSL libssl-dev)
set(tenure_debian_PostgreSQL libpq-dev)
set(tenure_debian_hiredis libhiredis-dev)

# tenure_part(<option> <what it is> [PACKAGES <package>...] [PARTS <option>...] [ROOMS <room>...])
#   makes <option> and leaves ON or OFF in the variable of its name. A part needs its packages, and other parts. What it is
#   built on of lockcore's own rooms (names, net, aws, kubernetes) is built with it.
macro(tenure_part option what)
  cmake_parse_arguments(part "" "" "PACKAGES;PARTS;ROOMS" ${ARGN})
  set(${option} AUTO CACHE STRING "${what}: AUTO, ON (required) or OFF")
  set_property(CACHE ${option} PROPERTY STRINGS AUTO ON OFF)
  string(TOUPPER "${${option}}" part_value)
  if(part_value MATCHES "^(1|TRUE|YES|Y)$")
    set(part_value ON)
  elseif(part_value MATCHES "^(0|FALSE|NO|N)$")
    set(part_value OFF)
  elseif(NOT part_value MATCHES "^(AUTO|ON|OFF)$")
    message(FATAL_ERROR "${option} is \"${${option}}\"; it takes AUTO, ON or OFF")
  endif()
  set(part_lacks "")
  if(NOT part_value STREQUAL OFF)
    foreach(part_needed IN LISTS part_PARTS)
      if(NOT ${part_needed})
        list(APPEND part_lacks "${part_needed}, which is OFF")
      endif()
    endforeach()
    foreach(part_package IN LISTS part_PACKAGES)
      find_package(${tenure_find_${part_package}} QUIET)
      if(NOT ${part_package}_FOUND)
        string(REGEX REPLACE ";(MODULE)?" " " part_text "${tenure_find_${part_package}}")
        string(STRIP "${part_text}" part_text)
        list(APPEND part_lacks "${part_text}, which was not found (Debian: ${tenure_debian_${part_package}})")
      endif()
    endforeach()
  endif()
  list(JOIN part_lacks ", and " part_lacks)
  if(part_lacks AND part_value STREQUAL ON)
    message(FATAL_ERROR "${option} is ON, and ${what} needs ${part_lacks}")
  elseif(part_lacks)
    message(STATUS "Without ${what} (${option}): that needs ${part_lacks}")
    set(part_value OFF)
  endif()
  if(part_value STREQUAL AUTO)
    set(part_value ON)
  endif()
  set(${option} ${part_value})  # hides the one of the cache
  if(${option})
    list(APPEND TENURE_ROOMS ${part_ROOMS})
  endif()
endmacro()

find_package(Threads REQUIRED)
find_package(Boost 1.81 CONFIG REQUIRED COMPONENTS json)
# The options of the stores are in their folders; a store without one is always built.
file(GLOB options CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/lockcore/stores/*/option.cmake")
foreach(option IN LISTS options)
  include("${option}")
endforeach()
tenure_part(TENURE_WITH_JOBS "periodic jobs")
tenure_part(TENURE_WITH_CONFIG "the YAML file" PACKAGES yaml-cpp PARTS TENURE_WITH_JOBS)
tenure_part(TENURE_WITH_POSTGRESQL "the fence for PostgreSQL" PACKAGES PostgreSQL)
tenure_part(TENURE_WITH_HTTP_FENCE "the fence for HTTP services and its proxy" PACKAGES OpenSSL SQLite3)
tenure_part(TENURE_WITH_REDIS "the fence for Redis" PACKAGES hiredis)

# The program, the tests, the examples and the benchmarks are made of these parts.
if(TENURE_BUILD_PROGRAM OR TENURE_BUILD_TESTS OR TENURE_BUILD_EXAMPLES OR TENURE_BUILD_BENCH)
  foreach(part TENURE_WITH_SQLITE TENURE_WITH_JOBS TENURE_WITH_CONFIG)
    if(NOT ${part})
      message(FATAL_ERROR "${part} is OFF, and the program, the tests, the examples and the benchmarks need it; see above for "
        "what it needs itself. For the libraries alone: -DTENURE_BUILD_PROGRAM=OFF -DTENURE_BUILD_TESTS=OFF "
        "-DTENURE_BUILD_EXAMPLES=OFF -DTENURE_BUILD_BENCH=OFF")
    endif()
  endforeach()
  find_package(fmt REQUIRED)
endif()
