#include "guard_channel.hpp"

#include <fcntl.h>
#include <new>
#include <sys/mman.h>
#include <utility>

#include "process.hpp"

namespace tenure::cli {
namespace {

void* mapShared(int memory, std::size_t size) {
  void* page = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
  if (page == MAP_FAILED) throwErrno("mapping the memory shared with the guard");
  return page;
}

}  // namespace

GuardChannel GuardChannel::create() {
  UniqueFd memory{memfd_create("tenure-guard", MFD_CLOEXEC | MFD_ALLOW_SEALING)};
  if (!memory) throwErrno("memfd_create for the guard");
  if (ftruncate(memory.get(), sizeof(Board)) != 0) throwErrno("sizing the memory shared with the guard");
  // If the file were shrunk, the reader would end with SIGBUS.
  if (fcntl(memory.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    throwErrno("sealing the memory shared with the guard");
  }
  auto* board = new (mapShared(memory.get(), sizeof(Board))) Board{};
  return GuardChannel{std::move(memory), board};
}

GuardChannel GuardChannel::open(UniqueFd memory) {
  auto* board = std::launder(static_cast<Board*>(mapShared(memory.get(), sizeof(Board))));
  return GuardChannel{std::move(memory), board};
}

GuardChannel::GuardChannel(UniqueFd memory, Board* board) noexcept : memory_{std::move(memory)}, board_{board} {}

GuardChannel::GuardChannel(GuardChannel&& other) noexcept
    : memory_{std::move(other.memory_)}, board_{std::exchange(other.board_, nullptr)} {}

GuardChannel::~GuardChannel() {
  if (board_ != nullptr) munmap(board_, sizeof(Board));
}

void GuardChannel::publish(const TermState& term) noexcept { board_->term.publish(term); }

TermState GuardChannel::term() const noexcept { return board_->term.load(); }

void GuardChannel::beginJob(std::chrono::nanoseconds drainTimeout) noexcept {
  board_->drainNanoseconds.store(drainTimeout.count());
  board_->terminationClaims.store(0);
  board_->jobOver.store(false);
}

std::chrono::nanoseconds GuardChannel::drainTimeout() const noexcept {
  return std::chrono::nanoseconds{board_->drainNanoseconds.load()};
}

bool GuardChannel::claimTermination() noexcept { return board_->terminationClaims.fetch_add(1) == 0; }

bool GuardChannel::terminationClaimed() const noexcept { return board_->terminationClaims.load() != 0; }

void GuardChannel::noteJobOver() noexcept { board_->jobOver.store(true); }

bool GuardChannel::isJobOver() const noexcept { return board_->jobOver.load(); }

}  // namespace tenure::cli
