# Tests against a real DynamoDB: Amazon's DynamoDB Local, which all of them share during one ctest run (launcher.py).
#
# tenure_dynamodb_test(<name> SOURCES ... LINK ... [LABELS ...] [TIMEOUT seconds] [SERIAL])
#   a C++ test program, as tenure_test has it
# tenure_dynamodb_test(<name> PYTHON script.py [ENVIRONMENT NAME=VALUE ...] [LABELS ...] [TIMEOUT seconds] [SERIAL])
#   a script of unittest; each of its test functions is a ctest case named <name>.<function without test_>
#
# They find the server in TENURE_TEST_DYNAMODB_ENDPOINT and credentials for it in AWS_*. The server is shared and tests run
# at once, so each case uses a table of its own, under a name that nobody else has. They carry the label dynamodb.
# By hand: scripts/dynamodb_local -- build/dev/tests/<name> --gtest_filter=...
if(NOT TENURE_WITH_DYNAMODB)
  return()
endif()
find_package(Python3 REQUIRED COMPONENTS Interpreter)
# The interpreter itself: what stands in its place on some systems (pyenv's shims) takes 0.2 s, and each case calls it.
execute_process(COMMAND "${Python3_EXECUTABLE}" -c "import sys; print(sys.executable, end='')"
  OUTPUT_VARIABLE TENURE_PYTHON COMMAND_ERROR_IS_FATAL ANY)
set(TENURE_DYNAMODB_LAUNCHER "${TENURE_PYTHON}" -B "${CMAKE_CURRENT_LIST_DIR}/launcher.py"
  "${PROJECT_BINARY_DIR}/dynamodb")
file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/dynamodb")

# The launcher would start the server as well; here it is nobody's time limit that the start and a first download count in.
add_test(NAME dynamodb.server.start COMMAND ${TENURE_DYNAMODB_LAUNCHER} --start)
add_test(NAME dynamodb.server.stop COMMAND ${TENURE_DYNAMODB_LAUNCHER} --stop)
set_tests_properties(dynamodb.server.start PROPERTIES FIXTURES_SETUP dynamodb_server TIMEOUT 900 LABELS dynamodb)
set_tests_properties(dynamodb.server.stop PROPERTIES FIXTURES_CLEANUP dynamodb_server TIMEOUT 60 LABELS dynamodb)

function(tenure_dynamodb_test name)
  cmake_parse_arguments(ARG "SERIAL" "TIMEOUT;PYTHON" "LABELS;ENVIRONMENT" ${ARGN})
  if(NOT ARG_PYTHON)
    # What CMake puts in front of a program of another machine is put in front of each case; the launcher lets the
    # listing of cases through without a server.
    set(CMAKE_CROSSCOMPILING_EMULATOR ${TENURE_DYNAMODB_LAUNCHER} --)
    list(FIND ARGN LABELS labels_at)
    if(labels_at EQUAL -1)
      list(APPEND ARGN LABELS dynamodb)
    else()
      math(EXPR labels_at "${labels_at} + 1")
      list(INSERT ARGN ${labels_at} dynamodb)
    endif()
    tenure_test(${name} ${ARGN} FIXTURES dynamodb_server)
    return()
  endif()

  get_filename_component(script "${ARG_PYTHON}" ABSOLUTE)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${script}")
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 60)
  endif()
  set(serial OFF)
  if(ARG_SERIAL)
    set(serial ON)
    list(APPEND ARG_LABELS serial)
  endif()
  file(STRINGS "${script}" cases REGEX "^    def test_")
  foreach(case ${cases})
    string(REGEX REPLACE "^    def test_([a-zA-Z0-9_]+).*" "\\1" case "${case}")
    add_test(NAME ${name}.${case} COMMAND ${TENURE_DYNAMODB_LAUNCHER} -- "${TENURE_PYTHON}" -B "${script}"
      -k "*.test_${case}")
    set_tests_properties(${name}.${case} PROPERTIES LABELS "dynamodb;${ARG_LABELS}" TIMEOUT ${ARG_TIMEOUT}
      RUN_SERIAL ${serial} ENVIRONMENT "${ARG_ENVIRONMENT}" FIXTURES_REQUIRED dynamodb_server)
  endforeach()
endfunction()
