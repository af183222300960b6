#include "pod_keeper.hpp"

#include <algorithm>
#include <utility>

#include "lockcore/kubernetes/annotations.hpp"
#include "lockcore/kubernetes/errors.hpp"
#include "lockcore/kubernetes/replies.hpp"
#include "lockcore/kubernetes/requests.hpp"
#include "lockcore/port/quoted_text.hpp"

namespace tenure::pod_label {
namespace {

using kubernetes_store::Outcome;

/// The kubelet writes to a pod too, a few times while it starts.
constexpr int mostLooks = 3;

constexpr std::size_t longestTold = 300;

constexpr const char* manifest =
    "a Role with the verbs get, list and patch on pods in this namespace; config/kubernetes/routing.yaml has it";

std::string labelText() {
  return std::string{kubernetes_store::roleLabel} + '=' + std::string{kubernetes_store::leaderRole};
}

void note(Report& report, StoreError error) {
  if (!report.error) report.error = std::move(error);
}

}  // namespace

PodKeeper::PodKeeper(KeeperSettings settings, Ask ask)
    : settings_{std::move(settings)}, requests_{settings_.inNamespace}, ask_{std::move(ask)} {}

Report PodKeeper::keep(FencingToken token, const std::function<bool()>& leads) const {
  Report report;
  for (int looks = 0; looks < mostLooks; ++looks) {
    const auto seen = look();
    if (seen.has_error()) {
      note(report, seen.error());
      return report;
    }
    const Plan plan = planFor(seen->own, seen->labelled, token);
    if (plan.later) {
      note(report,
           errorOf(ErrorClass::misconfigured,
                   "pod " + plan.later->name + " is marked with fencing token " + toString(plan.later->token) +
                       ", so the term with token " + toString(token) +
                       " no longer leads and changes nothing. If it does lead, tokens have started again: remove the "
                       "annotation " +
                       std::string{kubernetes_store::annotation::token} + " from that pod"));
      return report;
    }
    if (carryOut(plan, token, leads, report)) {
      if (plan.changes.empty() && !selectorFinds(*seen)) {
        note(report, errorOf(ErrorClass::misconfigured, "the selector " + inQuotes(settings_.selector) +
                                                            " does not match the pod of this process, " +
                                                            settings_.pod + "; give it labels that this pod has"));
      }
      return report;
    }
  }
  note(report, errorOf(ErrorClass::transient, "others kept changing the pods; it is tried again"));
  return report;
}

Report PodKeeper::withdraw(FencingToken token) const {
  Report report;
  for (int looks = 0; looks < mostLooks; ++looks) {
    const auto own = ownPod();
    if (own.has_error()) {
      note(report, own.error());
      return report;
    }
    const auto change = withdrawalFor(*own, token);
    if (!change || write(*change, token, report) != Written::changedMeanwhile) return report;
  }
  note(report, errorOf(ErrorClass::transient, "others kept changing pod " + settings_.pod));
  return report;
}

StoreStatus PodKeeper::checkRights() const {
  using namespace kubernetes_store;
  const Outcome outcome = ask_(Requests{settings_.inNamespace}.rules());
  const std::string doing = "asking for the user's rights on pods";
  // A server that does not tell has at least shown that it knows the user.
  if (outcome && (outcome->status == 403 || outcome->status == 404)) return {};
  if (!outcome || outcome->status / 100 != 2) return errorIn(doing, "", outcome);
  const auto rights = rightsFrom(outcome->body, {"", "pods"});
  if (rights.has_error()) return errorOf(ErrorClass::transient, doing + ": " + rights.error().what);
  std::string missing;
  for (const char* verb : {"get", "list", "patch"}) {
    if (!rights->has(verb)) missing += (missing.empty() ? "" : ", ") + std::string{verb};
  }
  if (missing.empty() || !rights->complete) return {};
  return errorOf(ErrorClass::credentials,
                 doing + ": the user may not " + missing + " pods there, which routing needs. Bind " + manifest);
}

StoreResult<Pod> PodKeeper::ownPod() const {
  const std::string doing = "reading pod " + settings_.pod;
  const Outcome outcome = ask_(requests_.get(settings_.pod));
  if (!outcome || outcome->status != 200) return errorIn(doing, "get", outcome);
  auto pod = podFrom(outcome->body, settings_.pod);
  if (pod.has_error()) return errorOf(ErrorClass::transient, doing + ": " + pod.error().what);
  return *std::move(pod);
}

/// The own pod is asked for by its name only if it is not among the labelled ones.
StoreResult<PodKeeper::Seen> PodKeeper::look() const {
  const std::string doing = "listing the pods with " + labelText();
  const Outcome outcome = ask_(requests_.labelled(settings_.selector));
  if (!outcome || outcome->status != 200) return errorIn(doing, "list", outcome);
  auto pods = podsFrom(outcome->body);
  if (pods.has_error()) return errorOf(ErrorClass::transient, doing + ": " + pods.error().what);
  const auto own = std::find_if(pods->begin(), pods->end(), [&](const Pod& pod) { return pod.name == settings_.pod; });
  if (own != pods->end()) return Seen{*own, *std::move(pods)};
  auto asked = ownPod();
  if (asked.has_error()) return asked.error();
  return Seen{*std::move(asked), *std::move(pods)};
}

/// Of a look that found the own pod labelled.
bool PodKeeper::selectorFinds(const Seen& seen) const {
  return std::any_of(seen.labelled.begin(), seen.labelled.end(),
                     [&](const Pod& pod) { return pod.name == settings_.pod; });
}

bool PodKeeper::carryOut(const Plan& plan, FencingToken token, const std::function<bool()>& leads,
                         Report& report) const {
  for (const Change& change : plan.changes) {
    if (!leads()) return true;
    const Written written = write(change, token, report);
    // No two pods have the label, unless the server refuses for good to remove it.
    if (written == Written::changedMeanwhile) return false;
    if (written == Written::failed) return true;
  }
  return true;
}

PodKeeper::Written PodKeeper::write(const Change& change, FencingToken token, Report& report) const {
  const Outcome outcome = ask_(requests_.patch(change, token));
  if (outcome && outcome->status == 409) return Written::changedMeanwhile;
  const bool isGone = outcome && outcome->status == 404 && change.pod != settings_.pod;
  if (isGone && kubernetes_store::statusFrom(outcome->body).reason == "NotFound") return Written::done;
  const std::string doing = (change.leads ? "labelling pod " : "removing the label from pod ") + change.pod;
  if (outcome && outcome->status == 200) {
    // Something between here and the server may have answered in its place.
    const auto pod = podFrom(outcome->body, change.pod);
    if (!pod.has_error() && pod->leads == change.leads) {
      report.done.push_back(change);
      return Written::done;
    }
    note(report, errorOf(ErrorClass::transient, doing + ": the answer does not show the pod as it was written"));
    return Written::failed;
  }
  const StoreError error = errorIn(doing, "patch", outcome);
  note(report, error);
  return mayPass(error) ? Written::failed : Written::refused;
}

StoreError PodKeeper::errorIn(const std::string& doing, std::string_view verb, const Outcome& outcome) const {
  if (!outcome) return errorOf(outcome.error().error.errorClass, doing + ": " + outcome.error().error.message);
  std::string message = kubernetes_store::statusFrom(outcome->body).message;
  if (message.empty()) message = outcome->body;
  std::string text = doing + ": the server answered " + std::to_string(outcome->status);
  if (!message.empty()) text += ": " + inQuotes(message, longestTold);
  switch (outcome->status) {
    case 401:
      return errorOf(ErrorClass::credentials, text + ". The server does not accept the token or the certificate");
    case 403:
      return errorOf(ErrorClass::credentials,
                     text + ". The right to " + std::string{verb} + " pods is missing. Bind " + manifest);
    case 404:
      return errorOf(
          ErrorClass::misconfigured,
          text + ". Give the name of the pod in which this process runs (metadata.name of the downward API)");
    case 429:
      return errorOf(ErrorClass::throttled, text);
    default:
      return errorOf(outcome->status / 100 == 4 ? ErrorClass::misconfigured : ErrorClass::transient, text);
  }
}

StoreError PodKeeper::errorOf(ErrorClass errorClass, const std::string& what) const {
  return {errorClass, settings_.where + ": " + what};
}

}  // namespace tenure::pod_label
