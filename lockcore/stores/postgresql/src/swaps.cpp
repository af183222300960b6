#include "swaps.hpp"

#include <utility>

#include <tenure/lockcore/lease_store.hpp>

#include "lockcore/port/store_checks.hpp"
#include "statements.hpp"

namespace tenure::postgresql_store {
namespace {

/// A register is not told the purpose of a write, only the word for it in messages.
bool renews(const Swap& swap) { return swap.call.doing == doing(WriteRequest::Purpose::renew); }

/// Each question is asked only where those before it have left the outcome open.
stored::SwapOutcome outcomeOf(const StoreCore& core, const Swap& swap, const JobReply& reply) {
  const Call call = core.call(swap.call.text());
  const Verdict verdict = verdictOnWrite(call, reply);
  if (verdict.fate == Fate::notApplied) return Rejected{verdict.error};
  // A statement that returned no row has changed none, even if nobody knows what became of its COMMIT.
  if (!reply.rows.empty() && reply.rows.front().empty()) return stored::Differs{};
  if (verdict.fate == Fate::unknown) return Unknown{verdict.error};
  const bool showsTokens = !reply.rows.empty() && reply.rows.front().front().size() >= writtenColumnCount;
  if (!showsTokens) return Unknown{errorOfToken(call)};
  const Row& row = reply.rows.front().front();
  return outcomeOfRow(core, swap, row[writtenTokenColumn], row[writtenCounterColumn]);
}

/// Whoever watches the lease is told of every write but renewals: these come all the time, and free no lease.
void notifyListeners(const StoreCore& core, const Swap& swap, const stored::SwapOutcome& outcome) {
  const bool mayHaveChanged =
      std::holds_alternative<stored::Swapped>(outcome) || std::holds_alternative<Unknown>(outcome);
  if (mayHaveChanged && !renews(swap)) core.notifier().tell(swap.call.key);
}

/// Keeps writers from starving a takeover. The transactions of writers that check their term ("Your own transactions"
/// in docs/postgresql.md) lock the row FOR KEY SHARE. Where they overlap, one of them always has that lock, and waiting
/// for it would not help an acquisition: new writers would still get theirs before it. So an acquisition that was kept
/// out is followed by an announcement, which their lock lets through. After it, a writer of the old term finds no row
/// and does not begin, and one of the next attempts to acquire finds the row free.
std::optional<RowChange> announcementFor(const Swap& swap, const JobReply& reply) {
  // An operator's correction has this statement as well, but writes no times.
  const bool acquires = swap.change.kind == StatementId::beginTerm && swap.change.renewedAt;
  if (!acquires || !wasKeptOut(reply)) return std::nullopt;
  return announcementOf(*swap.seen);
}

/// `outcome`: that of the attempt to acquire. It stays the answer whatever becomes of the announcement: this changes no
/// version, so no candidate has to watch the record for another lease.
void announce(const CorePtr& core, const SwapPtr& swap, const RowChange& announcement, stored::SwapOutcome outcome) {
  StoreCore::run(core, Jobs::write(announcement, /*urgent=*/false), swap->call.deadline,
                 [swap, outcome = std::move(outcome)](const JobReply& /*any*/) { swap->handler(outcome); });
}

}  // namespace

SwapPtr swapOf(const StoreCore& core, const stored::RegisterCall& call, std::shared_ptr<const RowState> seen,
               const stored::Change& change, stored::SwapHandler handler) {
  auto next = std::make_shared<const RowState>(stateAfter(core.place(), *seen, call.key, change));
  RowChange rowChange = rowChangeOf(*seen, change, *next);
  // Of a correction, stateAfter() has only the texts, not what they mean, so it is not given out as what is stored. The
  // state before it is: nobody decides from the answer to a correction.
  auto answer = change.correction ? seen : std::move(next);
  return std::make_shared<const Swap>(
      Swap{call, std::move(seen), std::move(answer), std::move(rowChange), std::move(handler)});
}

stored::SwapOutcome outcomeOfRow(const StoreCore& core, const Swap& swap, const Value& token, const Value& counter) {
  const Row& next = swap.change.next;
  if (token == next[tokenColumn] && counter == next[counterColumn]) return stored::Swapped{swap.next};
  return Unknown{errorOfToken(core.call(swap.call.text()))};
}

void perform(const CorePtr& core, const SwapPtr& swap) {
  Job job = Jobs::write(swap->change, renews(*swap));
  StoreCore::run(core, std::move(job), swap->call.deadline, [core, swap](const JobReply& reply) {
    stored::SwapOutcome outcome = outcomeOf(*core, *swap, reply);
    notifyListeners(*core, *swap, outcome);  // before the handler, which may end the store
    if (const auto announcement = announcementFor(*swap, reply)) {
      return announce(core, swap, *announcement, std::move(outcome));
    }
    swap->handler(std::move(outcome));
  });
}

}  // namespace tenure::postgresql_store
