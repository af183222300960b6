# Install rules and the package files: find_package(tenure COMPONENTS ...) and pkg-config.
#
# Each library is an export set of its own, so that a program that needs only the elector need not have yaml-cpp.
# What a component needs is read from its link interface; nothing is listed twice.
#
# Parts of an installation, for cmake --install --component and for packages: tenure_libraries (what a linked program needs),
# tenure_development (what compiling against them needs besides), tenure_program.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# Directories may be given as absolute paths, as Nix does. CMake puts the prefix before that of the headers in any case.
if(IS_ABSOLUTE "${CMAKE_INSTALL_INCLUDEDIR}" AND CMAKE_INSTALL_PREFIX)
  file(RELATIVE_PATH CMAKE_INSTALL_INCLUDEDIR "${CMAKE_INSTALL_PREFIX}" "${CMAKE_INSTALL_INCLUDEDIR}")
endif()

set(TENURE_PACKAGE_DIR "${CMAKE_INSTALL_LIBDIR}/cmake/tenure")
get_property(tenure_libraries GLOBAL PROPERTY TENURE_LIBRARIES)

# Targets of other projects, each with its package, for CMake and for pkg-config ("-l..." is a plain flag).
set(package_of_Boost::headers "Boost 1.81 CONFIG")
set(package_of_Boost::json "Boost 1.81 CONFIG COMPONENTS json")
set(package_of_Threads::Threads "Threads")
set(package_of_SQLite::SQLite3 "SQLite3")
set(package_of_PostgreSQL::PostgreSQL "PostgreSQL")
set(package_of_OpenSSL::SSL "OpenSSL 3.0")
set(package_of_OpenSSL::Crypto "OpenSSL 3.0")
set(package_of_hiredis::hiredis "hiredis MODULE")
set(package_of_yaml-cpp::yaml-cpp "yaml-cpp MODULE")
set(package_of_fmt::fmt "fmt")
set(pc_of_Boost::json "-lboost_json")
set(pc_of_Threads::Threads "-pthread")
set(pc_of_SQLite::SQLite3 "sqlite3")
set(pc_of_PostgreSQL::PostgreSQL "libpq")
set(pc_of_OpenSSL::SSL "libssl")
set(pc_of_OpenSSL::Crypto "libcrypto")
set(pc_of_hiredis::hiredis "hiredis")
set(pc_of_yaml-cpp::yaml-cpp "yaml-cpp")
set(pc_of_fmt::fmt "fmt")

# tenure_link_interface(<target> <out: components> <out: foreign targets>): what the target links directly. That includes
# what users of a static library need only for linking.
function(tenure_link_interface target out_components out_foreign)
  get_target_property(interface ${target} INTERFACE_LINK_LIBRARIES)
  set(components "")
  set(foreign "")
  if(NOT interface)
    set(interface "")
  endif()
  foreach(item IN LISTS interface)
    string(REGEX REPLACE "^\\$<LINK_ONLY:(.+)>$" "\\1" item "${item}")
    if(item MATCHES "^\\$<BUILD_INTERFACE:" OR item MATCHES "^::@")
      continue()
    endif()
    if(item MATCHES "^tenure(::|_)(.+)$")
      list(APPEND components "${CMAKE_MATCH_2}")
    elseif(DEFINED "package_of_${item}")
      list(APPEND foreign "${item}")
    else()
      message(FATAL_ERROR "${target} needs \"${item}\", of which TenureInstall.cmake does not know the package; "
        "add it to the table there")
    endif()
  endforeach()
  set(${out_components} "${components}" PARENT_SCOPE)
  set(${out_foreign} "${foreign}" PARENT_SCOPE)
endfunction()

# All components that `component` needs, each after those that it needs itself.
function(tenure_closure component out)
  tenure_link_interface(tenure_${component} direct unused)
  set(all "")
  foreach(needed IN LISTS direct)
    tenure_closure(${needed} below)
    list(APPEND all ${below} ${needed})
  endforeach()
  list(REMOVE_DUPLICATES all)
  set(${out} "${all}" PARENT_SCOPE)
endfunction()

function(tenure_install_pkgconfig component direct foreign)
  set(PC_COMPONENT "${component}")
  if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
    set(PC_PREFIX "${CMAKE_INSTALL_PREFIX}")
    set(PC_LIBDIR "${CMAKE_INSTALL_LIBDIR}")
    set(PC_INCLUDEDIR "${CMAKE_INSTALL_FULL_INCLUDEDIR}")
  else()
    # The prefix is found from the file's own place. So it may be chosen when installing, and the tree may be moved.
    file(RELATIVE_PATH up "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
    set(PC_PREFIX "\${pcfiledir}/${up}")
    set(PC_LIBDIR "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
    set(PC_INCLUDEDIR "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
  endif()
  set(requires "")
  set(PC_LIBS "")
  foreach(needed IN LISTS direct)
    list(APPEND requires "tenure-${needed} = ${PROJECT_VERSION}")
  endforeach()
  foreach(item IN LISTS foreign)
    if(pc_of_${item} MATCHES "^-")
      string(APPEND PC_LIBS "${pc_of_${item}} ")
    elseif(pc_of_${item})
      list(APPEND requires "${pc_of_${item}}")
    endif()
  endforeach()
  list(JOIN requires ", " PC_REQUIRES)
  set(file "${PROJECT_BINARY_DIR}/package/tenure-${component}.pc")
  configure_file("${PROJECT_SOURCE_DIR}/config/cmake/tenure.pc.in" "${file}" @ONLY)
  install(FILES "${file}" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT tenure_development)
endfunction()

set(TENURE_COMPONENTS "")
set(TENURE_COMPONENT_TABLE "")
foreach(target IN LISTS tenure_libraries)
  string(REGEX REPLACE "^tenure_" "" component "${target}")
  # Shared libraries find each other in their own directory, also in a prefix that the loader does not search.
  set_target_properties(${target} PROPERTIES INSTALL_RPATH "$ORIGIN")
  install(TARGETS ${target} EXPORT tenure-${component}
    LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT tenure_libraries NAMELINK_COMPONENT tenure_development
    ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT tenure_development
    FILE_SET HEADERS COMPONENT tenure_development)
  install(EXPORT tenure-${component} NAMESPACE tenure:: DESTINATION "${TENURE_PACKAGE_DIR}"
    FILE tenure-${component}-targets.cmake COMPONENT tenure_development)

  tenure_link_interface(${target} direct foreign)
  tenure_closure(${component} needs)
  set(packages "")
  foreach(item IN LISTS foreign)
    if(package_of_${item})
      list(APPEND packages "${package_of_${item}}")
    endif()
  endforeach()
  list(APPEND TENURE_COMPONENTS ${component})
  string(APPEND TENURE_COMPONENT_TABLE "set(_tenure_needs_${component} \"${needs}\")\n"
    "set(_tenure_packages_${component} \"${packages}\")\n")
  tenure_install_pkgconfig(${component} "${direct}" "${foreign}")
endforeach()
list(JOIN TENURE_COMPONENTS " " TENURE_COMPONENTS)

# On request only, because it needs GoogleTest.
set(contract_directory "${CMAKE_INSTALL_DATADIR}/tenure")
file(RELATIVE_PATH TENURE_CONTRACT_FROM_PACKAGE "${CMAKE_INSTALL_FULL_LIBDIR}/cmake/tenure" "${CMAKE_INSTALL_FULL_DATADIR}/tenure")
configure_file("${PROJECT_SOURCE_DIR}/config/cmake/store_contract-targets.cmake.in"
  "${PROJECT_BINARY_DIR}/package/tenure-store_contract-targets.cmake" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/package/tenure-store_contract-targets.cmake" DESTINATION "${TENURE_PACKAGE_DIR}"
  COMPONENT tenure_development)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/tests/contract/" DESTINATION "${contract_directory}/contract"
  COMPONENT tenure_development FILES_MATCHING
  PATTERN "*_contract.cpp" PATTERN "store_c*.?pp" PATTERN "*_test.cpp" EXCLUDE)
# What the suite knows of a store beyond the port for authors.
foreach(header extended_store store_checks stored_key)
  install(FILES "${PROJECT_SOURCE_DIR}/lockcore/port/${header}.hpp" DESTINATION "${contract_directory}/lockcore/port"
    COMPONENT tenure_development)
endforeach()
string(APPEND TENURE_COMPONENT_TABLE "set(_tenure_needs_store_contract \"lockcore\")\n"
  "set(_tenure_packages_store_contract \"GTest\")\n")

configure_package_config_file("${PROJECT_SOURCE_DIR}/config/cmake/tenureConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/package/tenureConfig.cmake" INSTALL_DESTINATION "${TENURE_PACKAGE_DIR}"
  NO_SET_AND_CHECK_MACRO)
# Before 1.0 a minor version may change the interface.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/package/tenureConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/package/tenureConfig.cmake"
  "${PROJECT_BINARY_DIR}/package/tenureConfigVersion.cmake" DESTINATION "${TENURE_PACKAGE_DIR}"
  COMPONENT tenure_development)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/config/cmake/find" DESTINATION "${TENURE_PACKAGE_DIR}"
  COMPONENT tenure_development)

if(TARGET tenure_program)
  if(BUILD_SHARED_LIBS)
    file(RELATIVE_PATH to_lib "${CMAKE_INSTALL_FULL_BINDIR}" "${CMAKE_INSTALL_FULL_LIBDIR}")
    set_target_properties(tenure_program PROPERTIES INSTALL_RPATH "$ORIGIN/${to_lib}")
  endif()
  install(TARGETS tenure_program RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT tenure_program)
endif()

# Debian's packages have a copyright file instead, and a folder each (TenurePackages.cmake).
if(NOT TENURE_DEBIAN_VERSION)
  install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" "${PROJECT_SOURCE_DIR}/THIRD_PARTY_NOTICES.md"
    DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT tenure_development)
endif()
install(FILES "${PROJECT_SOURCE_DIR}/config/reference.yaml" DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT tenure_program)
