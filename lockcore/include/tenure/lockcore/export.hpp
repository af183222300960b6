// Marks what a shared library offers.
#pragma once

/// On each class and function of a public header that is neither a template nor inline. Shared libraries of tenure are
/// compiled with -fvisibility=hidden, so their dynamic tables have what is marked and nothing else. An internal header
/// has it where another library of tenure uses its declaration; that is no promise to anybody else.
#define TENURE_API __attribute__((visibility("default")))
