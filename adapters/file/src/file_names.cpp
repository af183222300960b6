
#include <cerrno>

#include "fence_state.hpp"
#include "files.hpp"
#include "lockcore/runtime/shared_file.hpp"
#include "lockcore/runtime/system_error.hpp"

namespace tenure::file_fence {
namespace {

ErrorClass classOf(int code) {
  switch (code) {
    case EACCES:
    case EPERM:
    case EROFS:
    case ENOENT:
    case ENOTDIR:
    case EISDIR:
    case ENAMETOOLONG:
    case ELOOP:
    case notRegular:
    case notOurs:
    case manyNames:
    case mountedAlone:
    case behindLink:
      return ErrorClass::misconfigured;
    default:
      return ErrorClass::transient;
  }
}

std::string causeOf(int code) {
  switch (code) {
    case notRegular:
      return "it is not a regular file";
    case notOurs:
      return "it belongs to another user: if a fence of that user made it, run as that user; otherwise remove it, and "
             "keep the file in a directory where no other user can make files";
    case manyNames:
      return "it has other names (hard links): an append would change them too, and a replacement would not reach "
             "them; remove the other names";
    case mountedAlone:
      return "it is a separate mount (a bind mount of a single file): a container that mounts it has another "
             "directory around it, with another fence; mount the whole directory instead";
    case behindLink:
      return "a component of its path is a symbolic link, which could be switched to another directory; give the path "
             "without links";
    case ELOOP:
      return errnoText(code) + "; it is a symbolic link: give the path of the file itself, and remove links next to it";
    default:
      return errnoText(code);
  }
}

}  // namespace

FileNames::FileNames(const std::string& of, std::chrono::milliseconds timeout)
    : path{of},
      directory{partsOf(of).directory},
      content{partsOf(of).name},
      fence{content + ".fence"},
      next{fence + ".next"},
      lock{fence + ".lock"},
      lockTimeout{timeout} {}

std::string FileNames::whole(const std::string& name) const {
  return path.substr(0, path.size() - content.size()) + name;
}

FenceError FileNames::errorOf(const std::string& what, int code, bool mayBeWritten) const {
  std::string text = "file " + path + ": " + what + " failed: " + causeOf(code);
  if (code == EWOULDBLOCK) {
    text += "; another writer held it for the whole lockTimeout of " + std::to_string(lockTimeout.count()) + " ms";
  }
  if (code == ENOSPC || code == EDQUOT) text += "; free space";
  return fenceError({classOf(code), text}, mayBeWritten);
}

FenceError FileNames::corrupt(const std::string& text) const {
  return fenceError({ErrorClass::corrupt, "file " + path + ": " + text});
}

}  // namespace tenure::file_fence
