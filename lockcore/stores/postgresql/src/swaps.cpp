#include "swaps.hpp"

#include <utility>

#include <tenure/lockcore/lease_store.hpp>

#include "lockcore/port/store_checks.hpp"
#include "statements.hpp"

namespace tenure::postgresql_store {
namespace {

bool renews(const Swap& swap) { return swap.call.doing == doing(WriteRequest::Purpose::renew); }

/// A row that the statement did not return was not changed, whatever became of the transaction.
stored::SwapOutcome outcomeOf(const StoreCore& core, const Swap& swap, const JobReply& reply) {
  const Call call = core.call(swap.call.text());
  const Verdict verdict = verdictOnWrite(call, reply);
  if (verdict.fate == Fate::notApplied) return Rejected{verdict.error};
  if (!reply.rows.empty() && reply.rows.front().empty()) return stored::Differs{};
  if (verdict.fate == Fate::unknown) return Unknown{verdict.error};
  const bool shows = !reply.rows.empty() && reply.rows.front().front().size() >= writtenColumnCount;
  if (!shows) return Unknown{errorOfToken(call)};
  const Row& row = reply.rows.front().front();
  return outcomeOfRow(core, swap, row[writtenTokenColumn], row[writtenCounterColumn]);
}

/// Heartbeats free no lease.
void notifyOf(const StoreCore& core, const Swap& swap, const stored::SwapOutcome& outcome) {
  const bool mayHaveChanged =
      std::holds_alternative<stored::Swapped>(outcome) || std::holds_alternative<Unknown>(outcome);
  if (mayHaveChanged && !renews(swap)) core.notifier().tell(swap.call.key);
}

/// Writers that check the row (docs/postgresql.md) hold it FOR KEY SHARE. Where they overlap, there is always one, and
/// an acquisition that waited would not help: they overtake it. So it announces itself, which passes them. From then on
/// they refuse to begin, and one of the next attempts finds the row free. The answer stays that of the attempt,
/// whatever becomes of the announcement: it changes no version, so nobody begins to wait anew.
std::optional<RowChange> announcementFor(const Swap& swap, const JobReply& reply) {
  const bool takes = swap.change.kind == StatementId::beginTerm && swap.change.renewedAt;
  if (!takes || !wasKeptOut(reply)) return std::nullopt;
  return announcementOf(*swap.seen);
}

void announce(const CorePtr& core, const SwapPtr& swap, const RowChange& announcement, stored::SwapOutcome refused) {
  StoreCore::run(core, Jobs::write(announcement, false), swap->call.deadline,
                 [swap, refused = std::move(refused)](const JobReply& /*any*/) { swap->handler(refused); });
}

}  // namespace

SwapPtr swapOf(const StoreCore& core, const stored::RegisterCall& call, std::shared_ptr<const RowState> seen,
               const stored::Change& change, stored::SwapHandler handler) {
  auto next = std::make_shared<const RowState>(stateAfter(core.place(), *seen, call.key, change));
  RowChange rows = rowChangeOf(*seen, change, *next);
  // Nobody decides from what an operator has corrected.
  auto shown = change.correction ? seen : std::move(next);
  return std::make_shared<const Swap>(
      Swap{call, std::move(seen), std::move(shown), std::move(rows), std::move(handler)});
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
    notifyOf(*core, *swap, outcome);  // before the handler, which may end the store
    if (const auto announcement = announcementFor(*swap, reply)) {
      return announce(core, swap, *announcement, std::move(outcome));
    }
    swap->handler(std::move(outcome));
  });
}

}  // namespace tenure::postgresql_store
