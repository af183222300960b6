// Marks what a shared library offers.
#pragma once

// Every header of tenure includes this one. Under an older standard there are hundreds of errors, and no other one says
// why.
#if __cplusplus < 202002L
#error "tenure needs C++20: compile with -std=c++20 or a later standard"
#endif

/// On each class and function of a public header that is neither a template nor inline. Shared libraries of tenure are
/// compiled with -fvisibility=hidden, so their dynamic tables have only marked symbols. An internal header
/// has it where another library of tenure uses its declaration; that is no promise to users.
#define TENURE_API __attribute__((visibility("default")))
