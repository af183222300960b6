# Tests against a real PostgreSQL, which all of them share during one ctest run (launcher.py).
#
# tenure_postgresql_test(<name> SOURCES ... LINK ... [LABELS ...] [TIMEOUT seconds] [SERIAL])
#   a C++ test program, as tenure_test has it
# tenure_postgresql_script(<name> COMMAND ... [ENVIRONMENT ...] [TIMEOUT seconds])
#   any other command
#
# They find the server's URL in TENURE_TEST_POSTGRESQL. Tests run at once, so each case uses a schema of its own, under a
# name that nobody else has. They carry the label postgresql. By hand:
# scripts/postgresql_local -- build/dev/tests/<name> --gtest_filter=...
if(NOT TARGET tenure::adapter_postgresql AND NOT TARGET tenure::store_postgresql)
  return()
endif()
find_package(Python3 REQUIRED COMPONENTS Interpreter)
set(TENURE_POSTGRESQL_LAUNCHER "${Python3_EXECUTABLE}" -B "${CMAKE_CURRENT_LIST_DIR}/launcher.py"
  "${PROJECT_BINARY_DIR}/postgresql")
file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/postgresql")

# The launcher would start the server as well; here the start counts in nobody's time limit.
add_test(NAME postgresql.server.start COMMAND ${TENURE_POSTGRESQL_LAUNCHER} --start)
add_test(NAME postgresql.server.stop COMMAND ${TENURE_POSTGRESQL_LAUNCHER} --stop)
set_tests_properties(postgresql.server.start PROPERTIES FIXTURES_SETUP postgresql_server TIMEOUT 120 LABELS postgresql)
set_tests_properties(postgresql.server.stop PROPERTIES FIXTURES_CLEANUP postgresql_server TIMEOUT 60 LABELS postgresql)

function(tenure_postgresql_test name)
  # What CMake puts in front of a program of another machine is put in front of each case; the launcher lets the
  # listing of cases through without a server.
  set(CMAKE_CROSSCOMPILING_EMULATOR ${TENURE_POSTGRESQL_LAUNCHER} --)
  list(FIND ARGN LABELS labels_at)
  if(labels_at EQUAL -1)
    list(APPEND ARGN LABELS postgresql)
  else()
    math(EXPR labels_at "${labels_at} + 1")
    list(INSERT ARGN ${labels_at} postgresql)
  endif()
  tenure_test(${name} ${ARGN} FIXTURES postgresql_server)
endfunction()

function(tenure_postgresql_script name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "COMMAND;ENVIRONMENT" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 60)
  endif()
  add_test(NAME ${name} COMMAND ${TENURE_POSTGRESQL_LAUNCHER} -- ${ARG_COMMAND})
  set_tests_properties(${name} PROPERTIES LABELS postgresql TIMEOUT ${ARG_TIMEOUT} ENVIRONMENT "${ARG_ENVIRONMENT}"
    FIXTURES_REQUIRED postgresql_server)
endfunction()
