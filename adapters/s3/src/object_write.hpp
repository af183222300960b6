// One fenced write of an object, from its check to its end.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "object_store.hpp"

namespace tenure::s3_fence {

/// Why the term is over; empty while it is not.
using TermEnd = std::function<std::optional<FenceError>()>;

class ObjectWrite {
 public:
  ObjectWrite(ObjectStore& store, const TermStamp& stamp, const S3Put& what, TermEnd over = {});

  [[nodiscard]] FenceResult<void> run();

  /// For tests: called between the comparison and the request that writes.
  std::function<void()> inside{};

 private:
  using Fault = std::optional<FenceError>;

  [[nodiscard]] Fault misuse() const;
  [[nodiscard]] Fault putData();
  [[nodiscard]] bool holdsData();
  [[nodiscard]] FenceResult<void> swing();
  /// Empty: continue with the object that was found.
  [[nodiscard]] std::optional<FenceResult<void>> judge();
  [[nodiscard]] ObjectAnswer put();
  [[nodiscard]] ObjectAnswer send(aws::ObjectRequest request);
  [[nodiscard]] Fault termEnd() const;
  [[nodiscard]] Fault lookAgain();
  [[nodiscard]] FenceError giveUp(StoreError error) const { return fenceError(std::move(error), inDoubt_); }
  void settled(std::string etag);

  ObjectStore& store_;
  const TermStamp& stamp_;
  const S3Put& what_;
  const TermEnd over_;
  const std::string id_;    ///< the id of this write, in its head
  const std::string data_;  ///< the key of the bytes; empty: they follow the head
  CallTime time_;
  FoundObject found_{};
  ObjectHead next_{};
  bool fresh_{false};       ///< found_ was read in this call
  bool inDoubt_{false};     ///< a request may have been carried out, but its answer is not known
  std::string doubtful_{};  ///< the ETag on which that request was conditional
};

}  // namespace tenure::s3_fence
