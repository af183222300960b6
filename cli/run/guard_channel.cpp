#include "guard_channel.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <new>
#include <sys/mman.h>
#include <sys/stat.h>
#include <utility>

#include "cli/process/process.hpp"
#include "lockcore/runtime/open_file.hpp"

namespace tenure::cli {
namespace {

void* mapShared(int memory, std::size_t size) {
  void* page = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
  if (page == MAP_FAILED) throwErrno("mapping the memory shared with the guard");
  return page;
}

/// Since Linux 6.3; not in the headers of older systems. Where vm.memfd_noexec is 2, Linux 6.3 to 6.5 refuse without
/// it.
constexpr unsigned noExecSeal = 8;

/// A file without a name takes the place of a memfd where a kernel has none, or seccomp refuses it.
UniqueFd namelessFile() {
  for (const char* directory : {"/dev/shm", "/run", "/tmp", "/var/tmp"}) {
    if (UniqueFd file{openToWrite(directory, O_RDWR | O_TMPFILE | O_CLOEXEC, 0600)}) return file;
  }
  return {};
}

/// Sealed as far as the system can: if the file were shrunk, the reader would end with SIGBUS.
UniqueFd sharedMemory(std::size_t size) {
  constexpr unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  UniqueFd memory{memfd_create("tenure-guard", flags | noExecSeal)};
  if (!memory && errno == EINVAL) memory.reset(memfd_create("tenure-guard", flags));
  const bool isSealable = static_cast<bool>(memory);
  const int why = errno;
  if (!memory) memory = namelessFile();
  if (!memory) {
    errno = why;
    throwErrno("memfd_create for the guard, and no file in /dev/shm, /run or /tmp takes its place");
  }
  if (ftruncate(memory.get(), static_cast<off_t>(size)) != 0) throwErrno("sizing the memory shared with the guard");
  if (isSealable && fcntl(memory.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    throwErrno("sealing the memory shared with the guard");
  }
  return memory;
}

}  // namespace

GuardChannel GuardChannel::create(std::string_view configuration) {
  const std::size_t size = sizeof(Board) + configuration.size();
  UniqueFd memory = sharedMemory(size);
  auto* board = new (mapShared(memory.get(), size)) Board{};
  std::copy(configuration.begin(), configuration.end(), reinterpret_cast<char*>(board + 1));
  return GuardChannel{std::move(memory), board, size};
}

GuardChannel GuardChannel::open(UniqueFd memory) {
  struct stat info {};
  if (fstat(memory.get(), &info) != 0) throwErrno("the size of the memory shared with the guard");
  const auto size = static_cast<std::size_t>(info.st_size);
  auto* board = std::launder(static_cast<Board*>(mapShared(memory.get(), size)));
  return GuardChannel{std::move(memory), board, size};
}

GuardChannel::GuardChannel(UniqueFd memory, Board* board, std::size_t size) noexcept
    : memory_{std::move(memory)}, board_{board}, size_{size} {}

GuardChannel::GuardChannel(GuardChannel&& other) noexcept
    : memory_{std::move(other.memory_)}, board_{std::exchange(other.board_, nullptr)}, size_{other.size_} {}

GuardChannel::~GuardChannel() {
  if (board_ != nullptr) munmap(board_, size_);
}

void GuardChannel::beginJob(std::chrono::nanoseconds drainTimeout) noexcept {
  board_->drainNanoseconds.store(drainTimeout.count());
  board_->terminationClaims.store(0);
  board_->killed.store(false);
  board_->jobOver.store(false);
}

void GuardChannel::beginTerm(const std::string& holder, FencingToken token) noexcept {
  forgoNotice();
  if (size_ == sizeof(Board) || holder.size() > longestHolder) return;
  *std::copy(holder.begin(), holder.end(), board_->noticedHolder) = '\0';
  board_->noticedToken.store(token.value());
}

std::optional<NoticedTerm> GuardChannel::noticedTerm() const {
  const FencingToken token{board_->noticedToken.load()};
  if (token.isNone()) return std::nullopt;
  return NoticedTerm{board_->noticedHolder, token};
}

std::string GuardChannel::configuration() const {
  return {reinterpret_cast<const char*>(board_ + 1), size_ - sizeof(Board)};
}

}  // namespace tenure::cli
