# Tests against a server that speaks the protocol of S3 (moto), which all of them share during one ctest run (launcher.py).
#
# tenure_s3_test(<name> SOURCES ... LINK ... [LABELS ...] [TIMEOUT seconds] [SERIAL])
#   a C++ test program, as tenure_test has it
#
# They find the server in TENURE_TEST_S3_ENDPOINT and credentials for it in AWS_*. Tests run at once, so each case uses a
# bucket of its own, under a name that nobody else has. They carry the label s3. By hand:
# scripts/s3_local -- build/dev/tests/<name> --gtest_filter=...
if(NOT TENURE_WITH_DYNAMODB)
  return()
endif()
find_package(Python3 REQUIRED COMPONENTS Interpreter)
set(TENURE_S3_LAUNCHER "${Python3_EXECUTABLE}" -B "${CMAKE_CURRENT_LIST_DIR}/launcher.py"
  "${PROJECT_BINARY_DIR}/s3")
file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/s3")

# The launcher would start the server as well; here the start and a first download count in nobody's time limit.
add_test(NAME s3.server.start COMMAND ${TENURE_S3_LAUNCHER} --start)
add_test(NAME s3.server.stop COMMAND ${TENURE_S3_LAUNCHER} --stop)
set_tests_properties(s3.server.start PROPERTIES FIXTURES_SETUP s3_server TIMEOUT 900 LABELS s3)
set_tests_properties(s3.server.stop PROPERTIES FIXTURES_CLEANUP s3_server TIMEOUT 60 LABELS s3)

function(tenure_s3_test name)
  # What CMake puts in front of a program of another machine is put in front of each case; the launcher lets the
  # listing of cases through without a server.
  set(CMAKE_CROSSCOMPILING_EMULATOR ${TENURE_S3_LAUNCHER} --)
  list(FIND ARGN LABELS labels_at)
  if(labels_at EQUAL -1)
    list(APPEND ARGN LABELS s3)
  else()
    math(EXPR labels_at "${labels_at} + 1")
    list(INSERT ARGN ${labels_at} s3)
  endif()
  tenure_test(${name} ${ARGN} FIXTURES s3_server)
endfunction()
