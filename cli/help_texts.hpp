// What --help prints, written for somebody who sees the program for the first time.
#pragma once

namespace tenure::cli::help {

extern const char* const program;
extern const char* const run;
extern const char* const status;
extern const char* const check;
extern const char* const doctor;
extern const char* const init;
extern const char* const resign;
extern const char* const pause;
extern const char* const resume;
extern const char* const history;
extern const char* const watch;
extern const char* const jobs;
extern const char* const jobsForget;
extern const char* const store;
extern const char* const storeSql;
extern const char* const fence;
extern const char* const fenceInstallSql;
extern const char* const lock;  ///< with lockStoresUsage() in place of @STORES@
extern const char* const lockAcquire;
extern const char* const lockRenew;
extern const char* const lockRelease;
extern const char* const lockHold;
extern const char* const lockShow;
extern const char* const lockList;
extern const char* const lockPrune;
extern const char* const fenceProxy;
extern const char* const fenceRecover;

}  // namespace tenure::cli::help
