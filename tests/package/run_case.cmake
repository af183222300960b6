# One case of the package tests; see CMakeLists.txt for what is passed in.
set(prefix "${SCRATCH}/prefix")
set(consumer "${CMAKE_CURRENT_LIST_DIR}/consumer")

function(run what)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "${what} failed (${code}):\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

function(configure_consumer dir)
  file(REMOVE_RECURSE "${dir}")
  run("configuring the consumer" "${CMAKE_COMMAND}" -G "${GENERATOR}" -S "${consumer}" -B "${dir}"
    "-DCMAKE_CXX_COMPILER=${COMPILER}" "-DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER}" ${ARGN})
  set(output "${output}" PARENT_SCOPE)
endfunction()

# Configures, builds and runs the consumer in a fresh build tree.
function(build_consumer dir)
  configure_consumer("${dir}" ${ARGN})
  run("building the consumer" "${CMAKE_COMMAND}" --build "${dir}" -j 2)
  run("running the consumer" "${dir}/consumer")
  if(NOT output MATCHES "tenure ${TENURE_VERSION}")
    message(FATAL_ERROR "the consumer says\n${output}")
  endif()
endfunction()

function(expect_rejection dir message)
  file(REMOVE_RECURSE "${dir}")
  execute_process(COMMAND "${CMAKE_COMMAND}" -G "${GENERATOR}" -S "${consumer}" -B "${dir}"
    "-DCMAKE_CXX_COMPILER=${COMPILER}" "-DCMAKE_PREFIX_PATH=${prefix}" ${ARGN}
    RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(code EQUAL 0 OR NOT output MATCHES "${message}")
    message(FATAL_ERROR "expected a rejection with \"${message}\", got code ${code}:\n${output}")
  endif()
endfunction()

# The library's table of symbols has the public classes, each symbol with its version, and none that is internal.
function(expect_exports library)
  string(REGEX MATCH "^[0-9]+\\.[0-9]+" version "${TENURE_VERSION}")
  run("reading the symbols of ${library}" nm --dynamic --defined-only --demangle "${library}")
  if(NOT output MATCHES " T tenure::LockClient::acquire\\([^\n]*@@TENURE_${version}\n")
    message(FATAL_ERROR "${library} does not export LockClient::acquire for TENURE_${version}:\n${output}")
  endif()
  if(output MATCHES "[0-9a-f]+ . tenure::(LeaseMachine|Observation|LockClient::Impl)::[^\n]*")
    message(FATAL_ERROR "${library} exports what is internal: ${CMAKE_MATCH_0}")
  endif()
  string(REGEX MATCHALL "[^\n]* tenure::[^\n]*" symbols "${output}")
  list(FILTER symbols EXCLUDE REGEX "@@TENURE_${version}$")
  if(symbols)
    message(FATAL_ERROR "${library} exports symbols without the version TENURE_${version}: ${symbols}")
  endif()
endfunction()

if(CASE STREQUAL "install")
  file(REMOVE_RECURSE "${prefix}")
  run("installing" "${CMAKE_COMMAND}" --install "${TENURE_BUILD}" --config "${CONFIG}" --prefix "${prefix}")
  foreach(file include/tenure/lockcore/version.hpp include/tenure/election/leader_elector.hpp)
    if(NOT EXISTS "${prefix}/${file}")
      message(FATAL_ERROR "not installed: ${file}")
    endif()
  endforeach()
  file(GLOB tests_of_ours "${prefix}/share/tenure/contract/*_test.cpp")
  if(tests_of_ours)
    message(FATAL_ERROR "the contract of stores has a test of ours, which needs our tree: ${tests_of_ours}")
  endif()
  # The suite finds all that it includes: next to it, or installed.
  file(GLOB_RECURSE suite "${prefix}/share/tenure/contract/*" "${prefix}/share/tenure/lockcore/*")
  foreach(file IN LISTS suite)
    file(STRINGS "${file}" lines REGEX "^#include \"|^#include <tenure/")
    foreach(line IN LISTS lines)
      string(REGEX REPLACE "^#include [\"<]([^\">]+).*" "\\1" name "${line}")
      get_filename_component(folder "${file}" DIRECTORY)
      if(NOT EXISTS "${prefix}/share/tenure/${name}" AND NOT EXISTS "${prefix}/include/${name}" AND NOT EXISTS "${folder}/${name}")
        message(FATAL_ERROR "the contract of stores needs ${name}, which is not installed: ${file}")
      endif()
    endforeach()
  endforeach()

elseif(CASE STREQUAL "find_package")
  # The prefix is moved first: nothing in it may name the place that it was installed to.
  file(REMOVE_RECURSE "${SCRATCH}/moved")
  file(COPY "${prefix}/" DESTINATION "${SCRATCH}/moved")
  build_consumer("${SCRATCH}/find_package" "-DCMAKE_PREFIX_PATH=${SCRATCH}/moved" -DUSE_INSTALLED=ON)

elseif(CASE STREQUAL "find_package_rejections")
  expect_rejection("${SCRATCH}/rejection" "has no component \"teleport\"" -DUSE_INSTALLED=ON -DMORE_COMPONENTS=teleport)
  expect_rejection("${SCRATCH}/rejection" "tenure is a C\\+\\+ library" -DUSE_INSTALLED=ON -DLANGUAGE=C)
  expect_rejection("${SCRATCH}/rejection" "requested version \"99.0\"" -DUSE_INSTALLED=ON -DWANTED_VERSION=99.0)
  configure_consumer("${SCRATCH}/rejection" "-DCMAKE_PREFIX_PATH=${prefix}" -DUSE_INSTALLED=ON -DOF_CMAKE=3.1)

elseif(CASE STREQUAL "find_package_adapters")
  # Who asks for no fence of PostgreSQL need not have libpq; who does is told what is missing.
  build_consumer("${SCRATCH}/adapters" "-DCMAKE_PREFIX_PATH=${prefix}" -DUSE_INSTALLED=ON
    "-DMORE_COMPONENTS=adapter_sqlite adapter_file" -DCMAKE_DISABLE_FIND_PACKAGE_PostgreSQL=ON)
  if(WITH_POSTGRESQL)
    build_consumer("${SCRATCH}/adapters" "-DCMAKE_PREFIX_PATH=${prefix}" -DUSE_INSTALLED=ON
      -DMORE_COMPONENTS=adapter_postgresql)
    expect_rejection("${SCRATCH}/rejection" "tenure::adapter_postgresql needs what was not found: PostgreSQL" -DUSE_INSTALLED=ON
      -DMORE_COMPONENTS=adapter_postgresql -DCMAKE_DISABLE_FIND_PACKAGE_PostgreSQL=ON)
    # An optional one is told as missing, and the others are there.
    configure_consumer("${SCRATCH}/optional" "-DCMAKE_PREFIX_PATH=${prefix}" -DUSE_INSTALLED=ON
      "-DOPTIONAL_COMPONENTS=adapter_postgresql teleport adapter_file" -DCMAKE_DISABLE_FIND_PACKAGE_PostgreSQL=ON)
    if(NOT output MATCHES "adapter_postgresql: FALSE.*teleport: FALSE.*adapter_file: TRUE")
      message(FATAL_ERROR "of optional components it says\n${output}")
    endif()
  endif()
  # Boost's package is found without one of its libraries, too.
  expect_rejection("${SCRATCH}/rejection" "tenure::election needs what was not found: Boost json" -DUSE_INSTALLED=ON
    -DCMAKE_DISABLE_FIND_PACKAGE_boost_json=ON)

elseif(CASE STREQUAL "headers")
  # All public headers at once, under the warnings that a user may have as errors.
  file(GLOB_RECURSE headers RELATIVE "${prefix}/include" "${prefix}/include/*.hpp")
  list(LENGTH headers count)
  if(count LESS 40)
    message(FATAL_ERROR "${count} headers are installed: ${headers}")
  endif()
  list(TRANSFORM headers REPLACE "(.+)" "#include <\\1>\n")
  list(JOIN headers "" source)
  file(WRITE "${SCRATCH}/headers.cpp" "${source}int main() {}\n")
  foreach(standard 20 2b)
    run("compiling all headers as C++${standard}" "${COMPILER}" -std=c++${standard} -fsyntax-only -Wall -Wextra -Wpedantic
      -Wconversion -Wsign-conversion -Wshadow -Wold-style-cast -Werror "-I${prefix}/include" "${SCRATCH}/headers.cpp")
  endforeach()

elseif(CASE STREQUAL "options")
  # ON is required, AUTO is told where it is left out, and what is OFF is not looked for.
  set(without "-DTENURE_SOURCE=${TENURE_SOURCE}" -DCMAKE_DISABLE_FIND_PACKAGE_hiredis=ON
    -DCMAKE_DISABLE_FIND_PACKAGE_yaml-cpp=ON -DCMAKE_DISABLE_FIND_PACKAGE_SQLite3=ON
    -DCMAKE_DISABLE_FIND_PACKAGE_OpenSSL=ON -DCMAKE_DISABLE_FIND_PACKAGE_PostgreSQL=ON)
  configure_consumer("${SCRATCH}/options" ${without})
  foreach(part REDIS CONFIG SQLITE DYNAMODB POSTGRESQL POSTGRESQL_STORE ETCD_STORE KUBERNETES_STORE HTTP_FENCE)
    if(NOT output MATCHES "Without [^\n]*TENURE_WITH_${part}[^\n]*which was not found|Without [^\n]*TENURE_WITH_${part}[^\n]*OFF")
      message(FATAL_ERROR "nothing says that TENURE_WITH_${part} is left out:\n${output}")
    endif()
  endforeach()
  expect_rejection("${SCRATCH}/options" "TENURE_WITH_REDIS is ON, and the fence for Redis needs hiredis,"
    ${without} -DTENURE_WITH_REDIS=ON)
  expect_rejection("${SCRATCH}/options" "TENURE_WITH_CONFIG is ON, and the YAML file needs TENURE_WITH_JOBS"
    "-DTENURE_SOURCE=${TENURE_SOURCE}" -DTENURE_WITH_CONFIG=ON -DTENURE_WITH_JOBS=OFF)
  expect_rejection("${SCRATCH}/options" "it takes AUTO, ON or OFF" "-DTENURE_SOURCE=${TENURE_SOURCE}" -DTENURE_WITH_REDIS=maybe)

elseif(CASE STREQUAL "tarball")
  # Made twice it is the same, whatever the times, the modes and the user of the tree are.
  run("making the tarball" "${TENURE_SOURCE}/scripts/tarball" "${SCRATCH}/tarball")
  string(REGEX MATCH "[0-9a-f]*\n$" first "${output}")
  file(TOUCH "${TENURE_SOURCE}/LICENSE")
  run("making the tarball" "${CMAKE_COMMAND}" -E env TZ=Asia/Tokyo LC_ALL=C "${TENURE_SOURCE}/scripts/tarball" "${SCRATCH}/tarball_again")
  if(NOT output MATCHES "${first}$" OR first STREQUAL "")
    message(FATAL_ERROR "two tarballs of one tree differ: ${first} and ${output}")
  endif()

elseif(CASE STREQUAL "fetch_content")
  run("making the tarball" "${TENURE_SOURCE}/scripts/tarball" "${SCRATCH}/fetched")
  string(REGEX MATCH "^[^\n]+" tarball "${output}")
  string(REGEX MATCH "[0-9a-f]+\n$" sum "${output}")
  string(STRIP "${sum}" sum)
  build_consumer("${SCRATCH}/fetch_content" "-DTENURE_TARBALL=${tarball}" "-DTENURE_TARBALL_SHA256=${sum}")
  # What is not linked is not built.
  file(GLOB_RECURSE libraries "${SCRATCH}/fetch_content/libtenure_*.a" "${SCRATCH}/fetch_content/libtenure_*.so")
  if(libraries MATCHES "tenure_config|tenure_ops|tenure_store_etcd")
    message(FATAL_ERROR "libraries were built that nobody links: ${libraries}")
  endif()

elseif(CASE STREQUAL "pkg_config")
  file(GLOB_RECURSE found "${prefix}/*/tenure-election.pc")
  get_filename_component(directory "${found}" DIRECTORY)
  set(ENV{PKG_CONFIG_PATH} "${directory}")
  set(dir "${SCRATCH}/pkg_config")
  file(MAKE_DIRECTORY "${dir}")
  run("pkg-config" pkg-config --cflags --libs tenure-election tenure-store_memory)
  if(output MATCHES "-std=")
    message(FATAL_ERROR "the standard is the program's to choose: ${output}")
  endif()
  separate_arguments(flags UNIX_COMMAND "${output}")
  foreach(standard 20 2b)
    run("compiling C++${standard} with pkg-config's flags"
      ${LAUNCHER} "${COMPILER}" -std=c++${standard} "${consumer}/main.cpp" -c -o "${dir}/main.o" ${flags})
  endforeach()
  run("linking with pkg-config's flags" "${COMPILER}" "${dir}/main.o" -o "${dir}/consumer" ${flags})
  run("running the consumer" "${dir}/consumer")

elseif(CASE STREQUAL "testing")
  # A user's tests, and a user's store that the installed suite judges.
  set(dir "${SCRATCH}/testing")
  run("configuring the tests" "${CMAKE_COMMAND}" -S "${TENURE_SOURCE}/examples/tested_job" -B "${dir}" -G "${GENERATOR}"
    "-DCMAKE_CXX_COMPILER=${COMPILER}" "-DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER}" "-DCMAKE_PREFIX_PATH=${prefix}")
  run("building the tests" "${CMAKE_COMMAND}" --build "${dir}")
  run("running the tests" ctest --test-dir "${dir}" --output-on-failure -j 4)
  if(NOT output MATCHES "Mine/StoreContract" OR NOT output MATCHES "100% tests passed")
    message(FATAL_ERROR "the store was not judged:\n${output}")
  endif()

elseif(CASE MATCHES "^add_subdirectory")
  # Shared libraries here, static ones in the installed tree; without the stores behind a network here, with them there.
  set(install OFF)
  set(private "${SCRATCH}/private")
  if(CASE STREQUAL "add_subdirectory_installed")
    set(install ON)  # with directories as Nix names them
    set(directories "-DCMAKE_INSTALL_PREFIX=${private}" "-DCMAKE_INSTALL_LIBDIR=${private}-lib/lib"
      "-DCMAKE_INSTALL_INCLUDEDIR=${private}-dev/include")
  endif()
  set(take build_consumer)
  if(CASE STREQUAL "add_subdirectory_configures")
    set(take configure_consumer)
  endif()
  cmake_language(CALL ${take} "${SCRATCH}/${CASE}" "-DTENURE_SOURCE=${TENURE_SOURCE}" "-DCMAKE_BUILD_TYPE=${CONFIG}" -DBUILD_SHARED_LIBS=ON
    -DTENURE_WITH_DYNAMODB=OFF -DTENURE_WITH_POSTGRESQL=OFF -DTENURE_WITH_POSTGRESQL_STORE=OFF
    -DTENURE_WITH_ETCD_STORE=OFF -DTENURE_WITH_KUBERNETES_STORE=OFF -DTENURE_UNITY=ON
    "-DTENURE_INSTALL=${install}" ${directories})
  if(NOT install)
    return()
  endif()
  # Installed to a prefix of one's own, they find one another there.
  file(REMOVE_RECURSE "${private}" "${private}-lib" "${private}-dev")
  run("installing" "${CMAKE_COMMAND}" --install "${SCRATCH}/${CASE}" --config "${CONFIG}" --prefix "${private}")
  unset(ENV{LD_LIBRARY_PATH})
  file(GLOB_RECURSE libraries "${private}-lib/libtenure_*.so")
  list(LENGTH libraries count)
  if(count LESS 5)
    message(FATAL_ERROR "${count} shared libraries were installed: ${libraries}")
  endif()
  foreach(library IN LISTS libraries)
    run("looking for what ${library} needs" ldd "${library}")
    if(output MATCHES "libtenure[^ ]* => not found")
      message(FATAL_ERROR "${library} does not find\n${output}")
    endif()
    if(library MATCHES "/libtenure_lockcore\\.so$")
      expect_exports("${library}")
    endif()
  endforeach()
  # A program that is linked with them elects.
  build_consumer("${SCRATCH}/private_consumer" "-DCMAKE_PREFIX_PATH=${private}-lib" -DUSE_INSTALLED=ON)
  set(ENV{PKG_CONFIG_PATH} "${private}-lib/lib/pkgconfig")
  run("pkg-config" pkg-config --cflags --libs tenure-election)
  if(NOT output MATCHES "-I${private}-dev/include .*-L${private}-lib/lib " OR
      NOT EXISTS "${private}-dev/include/tenure/election/leader_elector.hpp")
    message(FATAL_ERROR "neither headers nor libraries are where pkg-config says: ${output}")
  endif()

else()
  message(FATAL_ERROR "no such case: ${CASE}")
endif()
