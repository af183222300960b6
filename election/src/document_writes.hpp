// The document in a leader's record, as its elector writes it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <tenure/lockcore/fencing_token.hpp>
#include <tenure/lockcore/lease_key.hpp>
#include <tenure/lockcore/lease_store.hpp>

namespace tenure {

class LeaseDriver;

/// One for each elector that has led. Each write is the elector's next renewal, at once, or a part of its release. So
/// it is conditioned on the term's own versions of the record: no write of another term, or of another process, is lost
/// by it. Thread-safe.
class DocumentWrites {
 public:
  /// True: the record has this document, or a later one of the same term: the store acknowledged it, or a read showed
  /// it. False: nobody knows, and the term is over. Called exactly once, on the scheduler or by the thread that
  /// destroys the elector, never inside write(). It must return at once and must not throw.
  using Done = std::function<void(bool recorded)>;

  DocumentWrites(LeaseKey key, std::weak_ptr<LeaseStore> store, std::weak_ptr<LeaseDriver> driver);

  /// A term begins; `text` is what its record contains.
  void begin(FencingToken term, std::string text);
  /// The document of this term as it was asked for last. Empty: another term is the present one.
  [[nodiscard]] std::string text(FencingToken term) const;
  /// Also while the work of the term ends, until onRevoked has returned. Of several writes the last one wins. Returns
  /// why the document was not taken; empty: it was, and `done` will be called.
  [[nodiscard]] std::optional<std::string> write(FencingToken term, std::string text, Done done);

  // On the scheduler.
  void answer(std::uint64_t first, std::uint64_t last, bool recorded);

  /// No more answers come.
  void close();

 private:
  struct Write {
    std::uint64_t ticket;
    Done done;
  };

  const LeaseKey key_;
  const std::weak_ptr<LeaseStore> store_;  ///< these are gone when the elector is, and a term may live on
  const std::weak_ptr<LeaseDriver> driver_;

  mutable std::mutex mutex_;  ///< guards what follows; never held while a Done runs
  FencingToken term_{};       ///< none: closed, or before the first
  std::string text_{};
  std::uint64_t lastTicket_{0};
  std::vector<Write> waiting_{};
};

}  // namespace tenure
