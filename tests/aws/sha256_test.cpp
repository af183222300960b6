// SHA-256 at the end of the process. Its results are tested together with the signatures (sigv4_test).
#include "lockcore/aws/sha256.hpp"

#include <atomic>
#include <cstdlib>
#include <iostream>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

namespace tenure::aws {
namespace {

#if !defined(__SANITIZE_THREAD__)  // which ends a child that starts threads if its parent had some

std::atomic<int> done{0};

void awaitHundredMore() {
  for (const int before = done; done - before < 100;) std::this_thread::yield();
}

/// Ends as main() does when it returns, while another thread computes, even after OpenSSL's own actions at the end.
[[noreturn]] void endWhileAThreadComputes() {
  std::atexit(awaitHundredMore);  // the function that is registered first is called last
  std::thread{[] {
    for (;; ++done) (void)sha256({"some text"});
  }}.detach();
  awaitHundredMore();
  std::exit(0);  // NOLINT(concurrency-mt-unsafe): that is the point
}

TEST(Sha256, aThreadMayBeSigningWhenTheProcessEnds) {
  for (int round = 0; round < 20; ++round) {
    std::cout.flush();
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) endWhileAThreadComputes();
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status)) << "round " << round << ": signal " << WTERMSIG(status);
    ASSERT_EQ(WEXITSTATUS(status), 0) << "round " << round;
  }
}

#endif

}  // namespace
}  // namespace tenure::aws
