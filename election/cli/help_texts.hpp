// What --help prints, written for somebody who sees the program for the first time.
#pragma once

namespace tenure::cli::help {

extern const char* const program;
extern const char* const run;
extern const char* const status;
extern const char* const check;
extern const char* const init;
extern const char* const resign;
extern const char* const fence;
extern const char* const fenceInstallSql;

}  // namespace tenure::cli::help
