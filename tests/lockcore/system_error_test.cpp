#include "lockcore/runtime/system_error.hpp"

#include <cerrno>
#include <string>

#include <gtest/gtest.h>

namespace tenure {
namespace {

// What passes by itself is tried again; what an operator must mend is told as a fault of the set-up.
TEST(SystemError, isTransientIfItMayPassByItself) {
  for (const int passing : {ENOSPC, EDQUOT, EFBIG, EMFILE, ENFILE, ENOMEM, EINTR, EIO, EAGAIN}) {
    EXPECT_EQ(systemError("store", "opening x", passing).errorClass, ErrorClass::transient) << errnoText(passing);
  }
  for (const int lasting : {EACCES, EPERM, ENOENT, ENOTDIR, EISDIR, EROFS, ELOOP, EINVAL}) {
    EXPECT_EQ(systemError("store", "opening x", lasting).errorClass, ErrorClass::misconfigured) << errnoText(lasting);
  }
}

TEST(SystemError, saysWhatToDoWhereThatIsKnown) {
  EXPECT_EQ(systemError("store", "opening x", ENOENT).message, "store: opening x: No such file or directory");
  EXPECT_EQ(systemError("store", "opening x", EACCES).message,
            "store: opening x: Permission denied; let this user read and write it and its directory");
  EXPECT_EQ(systemError("store", "opening x", EPERM).message,
            "store: opening x: Operation not permitted; let this user read and write it and its directory");
  EXPECT_EQ(systemError("store", "writing x", EDQUOT).message,
            std::string{"store: writing x: Disk quota exceeded; "} + adviceOnFullDisk);
}

}  // namespace
}  // namespace tenure
