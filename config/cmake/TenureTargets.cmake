# tenure_library(<name> SOURCES ... [PUBLIC_LINK ...] [PRIVATE_LINK ...])
#   makes target tenure_<name> with alias tenure::<name> and, if there is one, the include root <current dir>/include.
# tenure_common(<target>) sets what every target of ours has: language level, warnings, hardening, sanitizers.
include(GNUInstallDirs)

find_program(TENURE_CCACHE ccache)
if(TENURE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER AND PROJECT_IS_TOP_LEVEL)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${TENURE_CCACHE}")
endif()

if(PROJECT_IS_TOP_LEVEL)
  set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
  # Target all_verify_interface_header_sets compiles every public header alone.
  set(CMAKE_VERIFY_INTERFACE_HEADER_SETS ON)
endif()

# Most of a compilation's time goes into headers of the standard library, Asio and GoogleTest. Files that share one pass over
# them take a third of the time. Off: an edited file is compiled alone, and a full build takes three times as long.
option(TENURE_UNITY "Compile several files at a time (set by the presets)" OFF)
set(TENURE_UNITY_BATCH 24 CACHE STRING "Files that are compiled at a time with TENURE_UNITY")

# It links a test program in a fifth of the time of GNU ld. The builds that are shipped and those of scripts/mutate keep that.
find_program(TENURE_LLD ld.lld)
if(TENURE_LLD AND TENURE_UNITY AND CMAKE_BUILD_TYPE STREQUAL "Debug" AND NOT TENURE_MUTATE)
  add_link_options(-fuse-ld=lld)
endif()

# Flags that bound the harm of a fault in memory. They are not set under sanitizers, which find such faults instead, and not
# without optimisation, because then FORTIFY does nothing but warn.
if(CMAKE_BUILD_TYPE STREQUAL "Debug" OR NOT CMAKE_BUILD_TYPE)
  set(harden OFF)
else()
  set(harden ON)
endif()
option(TENURE_HARDEN "Full RELRO, stack protector, FORTIFY, in optimised builds control-flow integrity (by default in optimised builds; set by the preset dev)" ${harden})

# Of optimised builds: a stack that cannot jump over its guard page, calls and returns that the processor checks, and no path
# of the machine that built it. The preset dev goes without, so that its objects stay alike on all machines.
set(TENURE_HARDEN_RELEASE -fstack-clash-protection "-ffile-prefix-map=${PROJECT_SOURCE_DIR}=." "-ffile-prefix-map=${PROJECT_BINARY_DIR}=build")
include(CheckCXXCompilerFlag)
foreach(flag -fcf-protection=full -mbranch-protection=standard)
  string(MAKE_C_IDENTIFIER "TENURE_HAS${flag}" has)
  check_cxx_compiler_flag(${flag} ${has})
  if(${has})
    list(APPEND TENURE_HARDEN_RELEASE ${flag})
  endif()
endforeach()

function(tenure_harden target)
  # Some compilers define it already, with another level.
  target_compile_options(${target} PRIVATE -fstack-protector-strong -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2
    $<$<NOT:$<CONFIG:Debug>>:${TENURE_HARDEN_RELEASE}>)
  target_link_options(${target} PRIVATE -Wl,-z,relro -Wl,-z,now)
endfunction()

function(tenure_common target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  # An internal header of another folder is named from the top: "lockcore/runtime/thread.hpp".
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}")
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${TENURE_UNITY} UNITY_BUILD_BATCH_SIZE ${TENURE_UNITY_BATCH})
  # A batch names its files by their whole path, which each assertion of a test then holds. Without it ccache knows the tests of
  # one clone in every other one.
  target_compile_options(${target} PRIVATE "$<$<CONFIG:Debug>:-fmacro-prefix-map=${PROJECT_SOURCE_DIR}=.>")
  if(TENURE_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    # Below 1 GiB g++ need not look for memory to use again. That takes a seventh of its time.
    target_compile_options(${target} PRIVATE --param=ggc-min-heapsize=1048576)
  endif()
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion
    -Wnon-virtual-dtor -Wold-style-cast -Woverloaded-virtual -Wimplicit-fallthrough
    # g++ 12 at -O3 warns of overlaps in `"literal" + std::string` that cannot happen (GCC bug 105651), and of uninitialised
    # members of std::variant alternatives that are not active.
    $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict> $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  if(TENURE_UNITY AND CMAKE_CXX_COMPILER_ID MATCHES Clang)
    target_compile_options(${target} PRIVATE -Wno-shadow)  # clang counts what another file of the batch keeps to itself
  endif()
  # A designated initialiser leaves some members to their defaults on purpose.
  target_compile_options(${target} PRIVATE -Wno-missing-field-initializers)
  if(TENURE_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  if(TENURE_HARDEN AND NOT TENURE_SANITIZE AND NOT TENURE_COVERAGE)
    tenure_harden(${target})
  endif()
  if(TENURE_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${TENURE_SANITIZE} -fno-omit-frame-pointer
      -fno-sanitize-recover=all)
    target_link_options(${target} PUBLIC -fsanitize=${TENURE_SANITIZE})
    if(TENURE_SANITIZE MATCHES undefined AND CMAKE_CXX_COMPILER_ID MATCHES Clang)
      # clang 14 cannot compile a coroutine with it ("Cannot represent a difference across sections").
      target_compile_options(${target} PRIVATE -fno-sanitize=function)
    endif()
    get_target_property(type ${target} TYPE)
    if(TENURE_SANITIZE MATCHES address AND type STREQUAL EXECUTABLE)
      set(exit_source "${PROJECT_SOURCE_DIR}/tests/support/sanitized_exit.cpp")
      target_sources(${target} PRIVATE "${exit_source}")
      set_source_files_properties("${exit_source}" PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    endif()
    # Asio uses fences, which ThreadSanitizer does not know. Its queues are also guarded by a mutex.
    if(TENURE_SANITIZE MATCHES thread AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
      target_compile_options(${target} PRIVATE -Wno-tsan)
    endif()
  endif()
  if(TENURE_BUILD_FUZZERS)
    # libFuzzer must see what an input reaches in the libraries too, not only in the target's own file.
    target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
  endif()
  if(TENURE_COVERAGE)
    target_compile_options(${target} PRIVATE --coverage -fprofile-update=atomic)
    target_link_options(${target} PUBLIC --coverage)
  endif()
endfunction()

# tenure_alone(<file> ...): compiles each file alone, because other files of its target use one of its names too.
function(tenure_alone)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# For scripts/mutate: a changed file takes one compilation and one link, and no test program is linked anew. Each library
# reports which of its code a test runs.
option(TENURE_MUTATE "Libraries are shared, their files compiled one by one and traced (set by scripts/mutate)" OFF)
if(TENURE_MUTATE)
  set(BUILD_SHARED_LIBS ON)
  set(CMAKE_LINK_DEPENDS_NO_SHARED ON)
  # Some tests lead calls of the product through themselves (tenure_leads_calls). Their linker wraps such a call in
  # static libraries. In shared ones it must be wrapped already, and this is the wrapper for all other programs.
  set(TENURE_LED_CALLS eventfd_write flock inotify_add_watch kill openat pthread_mutex_lock pthread_mutex_unlock pwrite
    sqlite3_exec sqlite3_prepare_v3 sqlite3_step statfs syscall unlink _ZNK6tenure8TermCell4loadEv)
  set(wrappers "")
  foreach(call IN LISTS TENURE_LED_CALLS)
    string(APPEND wrappers "asm(\".weak __real_${call}\\n.globl __wrap_${call}\\n.type __wrap_${call}, @function\\n\"\n"
      "    \"__wrap_${call}: jmp __real_${call}@PLT\\n.size __wrap_${call}, .-__wrap_${call}\");\n")
  endforeach()
  set(wrappers_source "${PROJECT_BINARY_DIR}/generated/led_calls.cpp")
  file(CONFIGURE OUTPUT "${wrappers_source}" CONTENT "${wrappers}" @ONLY)
  add_library(tenure_trace OBJECT "${PROJECT_SOURCE_DIR}/tests/mutation/trace.cpp" "${wrappers_source}")
  target_compile_features(tenure_trace PRIVATE cxx_std_20)
  set_target_properties(tenure_trace PROPERTIES POSITION_INDEPENDENT_CODE ON)
endif()

# tenure_mutable(<library>): a library that scripts/mutate changes. Call it last, because it undoes settings of other builds.
function(tenure_mutable target)
  if(TENURE_MUTATE)
    set_target_properties(${target} PROPERTIES UNITY_BUILD OFF POSITION_INDEPENDENT_CODE ON)
    target_compile_options(${target} PRIVATE -fsanitize-coverage=trace-pc)
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:tenure_trace>)
    list(TRANSFORM TENURE_LED_CALLS PREPEND "LINKER:--wrap=" OUTPUT_VARIABLE wraps)
    target_link_options(${target} PRIVATE -Wl,--enable-new-dtags ${wraps})
  endif()
endfunction()

# What a shared library offers (TENURE_API), and under which version.
function(tenure_exports target)
  if(NOT BUILD_SHARED_LIBS OR TENURE_MUTATE)
    return()
  endif()
  set(local "")
  if(NOT TENURE_BUILD_TESTS AND NOT TENURE_BUILD_BENCH)  # these look inside the libraries, so with them everything is shown
    set_target_properties(${target} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
    # A class in another one is shown as that one is. Templates of std and Asio stay visible: their static data must be one
    # for the process, and the threads of one library may wait in the code of another.
    set(local "local: extern \"C++\" { tenure::*::Impl::*; };")
  endif()
  # Every symbol has the version of the interface, so two versions in one process do not take each other's. This stands in the
  # place of an inline namespace: it is one flag at one place, and mangled names and error messages stay short. Static
  # libraries have no such versions. For them there is the check of the package's version (tenureConfigVersion.cmake).
  set(script "${PROJECT_BINARY_DIR}/generated/symbols.map")
  file(CONFIGURE OUTPUT "${script}" @ONLY
    CONTENT "TENURE_@PROJECT_VERSION_MAJOR@.@PROJECT_VERSION_MINOR@ { global: *; @local@ };\n")
  target_link_options(${target} PRIVATE "LINKER:--version-script=${script}")
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS "${script}")
endfunction()

function(tenure_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;PUBLIC_LINK;PRIVATE_LINK" ${ARGN})
  set(target tenure_${name})
  add_library(${target} ${ARG_SOURCES})
  add_library(tenure::${name} ALIAS ${target})
  tenure_common(${target})
  tenure_mutable(${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name}
    VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})  # before 1.0 a minor version may change the interface
  tenure_exports(${target})
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/include/*.hpp")
  if(headers)
    target_sources(${target} PUBLIC FILE_SET HEADERS BASE_DIRS "${CMAKE_CURRENT_SOURCE_DIR}/include" FILES ${headers})
  endif()
  target_link_libraries(${target} PUBLIC ${ARG_PUBLIC_LINK} PRIVATE ${ARG_PRIVATE_LINK})
  if(NOT PROJECT_IS_TOP_LEVEL AND NOT TENURE_INSTALL)
    set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL ON)  # a guest's libraries are built where they are linked
  endif()
  set_property(GLOBAL APPEND PROPERTY TENURE_LIBRARIES ${target})
endfunction()
