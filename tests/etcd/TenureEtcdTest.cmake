# Tests against a real etcd, which all of them share during one ctest run (launcher.py).
#
# tenure_etcd_test(<name> SOURCES ... LINK ... [LABELS ...] [TIMEOUT seconds] [SERIAL])
#   a C++ test program, as tenure_test has it
# tenure_etcd_script(<name> COMMAND ... [ENVIRONMENT ...] [TIMEOUT seconds])
#   any other command
#
# They find the server's URL in TENURE_TEST_ETCD. Tests run at once, so each case uses a prefix of its own. They carry the label etcd. By hand:
# scripts/etcd_local -- build/dev/tests/<name> --gtest_filter=...
if(NOT TARGET tenure::store_etcd)
  return()
endif()
find_package(Python3 REQUIRED COMPONENTS Interpreter)
set(TENURE_ETCD_LAUNCHER "${Python3_EXECUTABLE}" -B "${CMAKE_CURRENT_LIST_DIR}/launcher.py"
  "${PROJECT_BINARY_DIR}/etcd")
file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/etcd")

# The launcher would start the server as well; here the start counts in nobody's time limit.
add_test(NAME etcd.server.start COMMAND ${TENURE_ETCD_LAUNCHER} --start)
add_test(NAME etcd.server.stop COMMAND ${TENURE_ETCD_LAUNCHER} --stop)
set_tests_properties(etcd.server.start PROPERTIES FIXTURES_SETUP etcd_server TIMEOUT 120 LABELS etcd)
set_tests_properties(etcd.server.stop PROPERTIES FIXTURES_CLEANUP etcd_server TIMEOUT 60 LABELS etcd)

function(tenure_etcd_test name)
  # What CMake puts in front of a program of another machine is put in front of each case; the launcher lets the
  # listing of cases through without a server.
  set(CMAKE_CROSSCOMPILING_EMULATOR ${TENURE_ETCD_LAUNCHER} --)
  list(FIND ARGN LABELS labels_at)
  if(labels_at EQUAL -1)
    list(APPEND ARGN LABELS etcd)
  else()
    math(EXPR labels_at "${labels_at} + 1")
    list(INSERT ARGN ${labels_at} etcd)
  endif()
  tenure_test(${name} ${ARGN} FIXTURES etcd_server)
endfunction()

function(tenure_etcd_script name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "COMMAND;ENVIRONMENT" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 60)
  endif()
  add_test(NAME ${name} COMMAND ${TENURE_ETCD_LAUNCHER} -- ${ARG_COMMAND})
  set_tests_properties(${name} PROPERTIES LABELS etcd TIMEOUT ${ARG_TIMEOUT} ENVIRONMENT "${ARG_ENVIRONMENT}"
    FIXTURES_REQUIRED etcd_server)
endfunction()
