# How tests are declared.
#
# tenure_test(<name> SOURCES ... LINK ... [LABELS ...] [TIMEOUT seconds] [QUIET | ALONE] [OPTIMISED] [SERVER kind]
#             [LONG filter])
#   one test program; each of its cases is a ctest case named <name>.<Suite>.<Case>. Those of the filter LONG run with
#   scripts/test --all alone, as the case <name>.long
# tenure_script(<name> <script.py> [PROGRAM] [ARGUMENTS ...] [LABELS ...] [TIMEOUT seconds] [QUIET]
#               [SERVER kind] [ENVIRONMENT NAME=VALUE ...] [EXCEPT regex] [ONLY regex] [LONG case ...]
#               [PEERS java|python|expfmt ...])
#   a script of unittest; each of its functions test_<case> is a ctest case named <name>.<case>. Those after LONG run with
#   scripts/test --all alone. What this machine cannot do is skipped. PROGRAM: the script is one case, and no unittest.
#
# PEERS: what tests/interop/peers.py makes for it. A case of its own does that, and the others wait for it without taking a
# place of another test.
#
# There are four places a processor (ctest -j), of which a test takes one, because most wait for leases to expire. Those
# beside DynamoDB take two, because its server is Python and computes for them. QUIET: it judges the times of real leases,
# which run out while others compute. Its cases take two as well, and come last (ctest sorts by cost, and begins what needs
# more places later), when only others that wait are there. ALONE: nothing at all runs beside it. OPTIMISED: its own code computes for seconds, or measures what
# it calls.
# SERVER: it runs beside a server that all tests of one ctest run share (servers/launcher.py), finds its address in TENURE_TEST_<KIND>, and has the kind as a label.
# Tests run at once, so each case uses a table, schema, bucket or prefix of its own, under a name that nobody else has. By
# hand: scripts/postgresql_local -- build/dev/tests/<name> --gtest_filter=...
#
# A server of TENURE_BUILT_SERVERS has a program that scripts/<kind>_local --build makes in minutes, as scripts/test --all
# does. Where it is missing ctest shows <kind>.server.start as skipped, with the reason in its log, and none of the cases.
set(TENURE_BUILT_SERVERS kubernetes)
set(TENURE_BUILT_kubernetes "kubernetes/server/kube-apiserver")  # in build/.cache
set(TENURE_SKIP 77)  # the launcher's exit code
find_package(GTest REQUIRED)
find_package(Python3 REQUIRED COMPONENTS Interpreter)
include(GoogleTest)

# The interpreter itself: what stands in its place on some systems (pyenv's shims) takes 0.2 s, and each case calls it.
execute_process(COMMAND "${Python3_EXECUTABLE}" -c "import sys; print(sys.executable, end='')"
  OUTPUT_VARIABLE TENURE_PYTHON COMMAND_ERROR_IS_FATAL ANY)
set(TENURE_PYTHON "${TENURE_PYTHON}" -B)

# Sets `beside` to what stands in front of a command beside this server: scripts/<kind>_server.py. The first call adds the
# server to the tests. The launcher would start it as well; here it is nobody's time limit that the start and a first
# download count in. -S: each case has a launcher, and Python's packages, which only a start needs, take most of its time.
function(tenure_beside kind)
  set(launcher "${PROJECT_SOURCE_DIR}/tests/servers/launcher.py" ${kind} "${PROJECT_BINARY_DIR}/${kind}")
  set(beside ${TENURE_PYTHON} -S ${launcher} -- PARENT_SCOPE)
  set(launcher ${TENURE_PYTHON} ${launcher})
  get_property(there GLOBAL PROPERTY TENURE_TEST_SERVER_${kind})
  if(there)
    return()
  endif()
  set_property(GLOBAL PROPERTY TENURE_TEST_SERVER_${kind} ON)
  file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/${kind}")
  add_test(NAME ${kind}.server.start COMMAND ${launcher} --start)
  add_test(NAME ${kind}.server.stop COMMAND ${launcher} --stop)
  set(labels ${kind})
  if(kind IN_LIST TENURE_BUILT_SERVERS)
    list(APPEND labels slow)
  endif()
  set_tests_properties(${kind}.server.start PROPERTIES FIXTURES_SETUP ${kind}_server TIMEOUT 900 LABELS "${labels}"
    SKIP_RETURN_CODE ${TENURE_SKIP})
  set_tests_properties(${kind}.server.stop PROPERTIES FIXTURES_CLEANUP ${kind}_server TIMEOUT 60 LABELS "${labels}")
endfunction()

# The cases of the last gtest_discover_tests are there only if this server's program is, or somebody gave a server.
function(tenure_where_built name kind)
  get_property(files DIRECTORY PROPERTY TEST_INCLUDE_FILES)
  list(POP_BACK files cases)
  set(where "${CMAKE_CURRENT_BINARY_DIR}/${name}_where_built.cmake")
  string(TOUPPER ${kind} upper)
  set(program "${TENURE_BUILT_${kind}}")
  file(CONFIGURE OUTPUT "${where}" @ONLY CONTENT [=[
set(cache "$ENV{TENURE_CACHE}")
if(NOT cache)
  set(cache "@PROJECT_SOURCE_DIR@/build/.cache")
endif()
if(DEFINED ENV{TENURE_TEST_@upper@} OR EXISTS "${cache}/@program@")
  include("@cases@")
endif()
]=])
  set_property(DIRECTORY PROPERTY TEST_INCLUDE_FILES "${files}" "${where}")
endfunction()

# Code that runs for a moment need not be optimised: that takes a third of its compilation. What it tests is optimised.
function(tenure_compile_quickly target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Debug>:-O0> $<$<CONFIG:Debug>:-U_FORTIFY_SOURCE>)
endfunction()

# Sets `places` to properties of the test, and adds the label of a quiet one.
macro(tenure_places)
  set(places "")
  if(ARG_ALONE)
    set(places RUN_SERIAL ON COST -1)
    list(APPEND ARG_LABELS quiet)
  elseif(ARG_QUIET)
    set(places PROCESSORS 2 COST -1)
    list(APPEND ARG_LABELS quiet)
  elseif(ARG_SERVER STREQUAL "dynamodb")
    set(places PROCESSORS 2)
  endif()
endmacro()

function(tenure_test name)
  cmake_parse_arguments(ARG "ALONE;QUIET;OPTIMISED" "TIMEOUT;SERVER;LONG" "SOURCES;LINK;LABELS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  tenure_common(${name})
  if(NOT ARG_OPTIMISED)
    tenure_compile_quickly(${name})
  endif()
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/tests")
  target_link_libraries(${name} PRIVATE ${ARG_LINK} GTest::gtest GTest::gtest_main)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 60)
  endif()
  if(TENURE_SANITIZE OR TENURE_COVERAGE)  # which make code that computes ten times as slow
    math(EXPR ARG_TIMEOUT "${ARG_TIMEOUT} * 5")
  endif()
  tenure_places()
  set(more ${places})
  set(beside "")
  if(ARG_SERVER)
    list(PREPEND ARG_LABELS ${ARG_SERVER})
    list(APPEND more FIXTURES_REQUIRED ${ARG_SERVER}_server SKIP_RETURN_CODE ${TENURE_SKIP})
    if(ARG_QUIET)  # leases as short as a few answers of the server: nothing else runs beside them
      list(APPEND more RUN_SERIAL ON)
    endif()
    if(ARG_SERVER IN_LIST TENURE_BUILT_SERVERS)
      list(APPEND ARG_LABELS slow)
      list(REMOVE_DUPLICATES ARG_LABELS)
    endif()
    # What CMake puts in front of a program of another machine is put in front of each case; the launcher lets the listing
    # of cases through without a server.
    tenure_beside(${ARG_SERVER})
    set_target_properties(${name} PROPERTIES CROSSCOMPILING_EMULATOR "${beside}")
  endif()
  set(filter "")
  if(ARG_LONG)
    set(filter TEST_FILTER "-${ARG_LONG}")
    add_test(NAME ${name}.long CONFIGURATIONS long
      COMMAND ${beside} $<TARGET_FILE:${name}> --gtest_brief=1 "--gtest_filter=${ARG_LONG}")
    set_tests_properties(${name}.long PROPERTIES TIMEOUT 600 LABELS "${ARG_LABELS}" ${more})
  endif()
  gtest_discover_tests(${name} ${filter} TEST_PREFIX "${name}." NO_PRETTY_VALUES TEST_LIST tests_of_${name} DISCOVERY_TIMEOUT 60
    PROPERTIES TIMEOUT ${ARG_TIMEOUT})
  if(ARG_SERVER IN_LIST TENURE_BUILT_SERVERS)
    tenure_where_built(${name} ${ARG_SERVER})
  endif()
  # gtest_discover_tests itself takes one label only.
  list(JOIN more " " more)
  set(properties "${CMAKE_CURRENT_BINARY_DIR}/${name}_properties.cmake")
  file(CONFIGURE OUTPUT "${properties}" @ONLY
    CONTENT "if(tests_of_@name@)
  set_tests_properties(\${tests_of_@name@} PROPERTIES LABELS \"@ARG_LABELS@\" @more@)
endif()
")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES "${properties}")
endfunction()

# Sets `fixture` to that of what peers.py makes. The first call adds its making to the tests.
function(tenure_peer peer)
  set(fixture peer_${peer} PARENT_SCOPE)
  get_property(there GLOBAL PROPERTY TENURE_TEST_PEER_${peer})
  if(NOT there)
    set_property(GLOBAL PROPERTY TENURE_TEST_PEER_${peer} ON)
    add_test(NAME interop.made.${peer} COMMAND ${TENURE_PYTHON} "${PROJECT_SOURCE_DIR}/tests/interop/peers.py" ${peer})
    set_tests_properties(interop.made.${peer} PROPERTIES FIXTURES_SETUP peer_${peer} TIMEOUT 900 LABELS interop)
  endif()
endfunction()

function(tenure_script name script)
  cmake_parse_arguments(ARG "QUIET;PROGRAM" "TIMEOUT;SERVER;EXCEPT;ONLY" "ARGUMENTS;LABELS;ENVIRONMENT;LONG;PEERS" ${ARGN})
  get_filename_component(script "${script}" ABSOLUTE)
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 60)
  endif()
  tenure_places()
  set(properties TIMEOUT ${ARG_TIMEOUT} ${places})
  set(fixtures "")
  foreach(peer IN LISTS ARG_PEERS)
    tenure_peer(${peer})
    list(APPEND fixtures ${fixture})
  endforeach()
  set(beside "")
  if(ARG_SERVER)
    list(PREPEND ARG_LABELS ${ARG_SERVER})
    list(APPEND properties SKIP_RETURN_CODE ${TENURE_SKIP})
    list(APPEND fixtures ${ARG_SERVER}_server)
    if(ARG_SERVER IN_LIST TENURE_BUILT_SERVERS)
      list(APPEND ARG_LABELS slow)
      list(REMOVE_DUPLICATES ARG_LABELS)
    endif()
    tenure_beside(${ARG_SERVER})
  endif()
  set(cases "")
  if(NOT ARG_PROGRAM)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${script}")
    file(STRINGS "${script}" cases REGEX "^    def test_")
    list(APPEND properties SKIP_REGULAR_EXPRESSION "OK \\(skipped=1\\)")
    list(TRANSFORM cases REPLACE "^    def test_([a-zA-Z0-9_]+).*" "\\1")
  endif()
  if(ARG_EXCEPT)
    list(FILTER cases EXCLUDE REGEX "${ARG_EXCEPT}")
  endif()
  if(ARG_ONLY)
    list(FILTER cases INCLUDE REGEX "${ARG_ONLY}")
  endif()
  set(tests "")
  foreach(case IN LISTS cases)
    set(configurations "")
    if(case IN_LIST ARG_LONG)
      set(configurations CONFIGURATIONS long)
    endif()
    add_test(NAME ${name}.${case} ${configurations} COMMAND ${beside} ${TENURE_PYTHON} "${script}" -k "*.test_${case}")
    list(APPEND tests ${name}.${case})
  endforeach()
  if(ARG_PROGRAM)
    add_test(NAME ${name} COMMAND ${beside} ${TENURE_PYTHON} "${script}" ${ARG_ARGUMENTS})
    set(tests ${name})
  endif()
  if(NOT tests)
    return()
  endif()
  set_tests_properties(${tests} PROPERTIES ${properties} LABELS "${ARG_LABELS}" ENVIRONMENT "${ARG_ENVIRONMENT}"
    FIXTURES_REQUIRED "${fixtures}")
endfunction()

# tenure_leads_calls(<test> <call> ...): the product's calls of these functions go to __wrap_<call>, which the test defines.
function(tenure_leads_calls name)
  foreach(call IN LISTS ARGN)
    if(TENURE_MUTATE AND NOT call IN_LIST TENURE_LED_CALLS)
      message(FATAL_ERROR "TENURE_LED_CALLS (config/cmake/TenureTargets.cmake) lacks ${call}")
    endif()
    target_link_options(${name} PRIVATE "LINKER:--wrap=${call}")
  endforeach()
endfunction()
