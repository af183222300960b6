#include "errors.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/string.hpp>
#include <boost/json/value.hpp>

#include "lockcore/port/quoted_text.hpp"

namespace tenure::etcd_store {
namespace {

using enum ErrorClass;

struct Rule {
  int number;
  ErrorClass errorClass;
  bool maybeApplied;
  std::string_view advice;
};

constexpr std::string_view oldServer =
    "Is the endpoint a member of etcd 3.4 or newer, and does nothing between here and there change the path?";
constexpr std::string_view rights =
    "Give the user's role the right to read and write below the store's prefix: `etcdctl role grant-permission ROLE "
    "readwrite PREFIX/ --prefix=true`";
constexpr std::string_view userMissing = "If the cluster has users, give the store one, with its password file";
constexpr std::string_view commonName =
    "If the cluster has users, the client's certificate must have no common name: etcd's gateway refuses one";
constexpr std::string_view noQuorum =
    "Has the cluster lost the majority of its members? `etcdctl endpoint status --cluster` shows it";

/// Codes of gRPC, which the body has.
constexpr std::array codeRules{
    Rule{1, transient, true, ""},
    Rule{2, transient, true, ""},
    Rule{3, misconfigured, false, userMissing},
    Rule{4, transient, true, ""},
    Rule{5, misconfigured, false, oldServer},
    Rule{7, credentials, false, rights},
    // etcd applies the transaction that crosses its quota, and answers it so.
    Rule{8, throttled, true,
         "If its database is full: compact, defragment, disarm the alarm (`etcdctl endpoint status`, `etcdctl alarm "
         "list`), and set auto-compaction"},
    Rule{9, misconfigured, false, ""},
    Rule{11, transient, false, ""},
    Rule{12, misconfigured, false, oldServer},
    Rule{14, transient, true, noQuorum},
    Rule{16, credentials, false, "Check the user and the password file"},
};

/// Statuses, for bodies without a code: what stands between here and etcd may have answered.
constexpr std::array statusRules{
    Rule{400, misconfigured, true, commonName}, Rule{401, credentials, true, "Check the user and the password file"},
    Rule{403, credentials, true, rights},       Rule{404, misconfigured, true, oldServer},
    Rule{405, misconfigured, true, oldServer},  Rule{412, misconfigured, true, ""},
    Rule{413, misconfigured, true, ""},         Rule{429, throttled, true, ""},
    Rule{501, misconfigured, true, oldServer},
};

constexpr Rule unknown{0, transient, true, ""};

template <class Rules>
const Rule& ruleIn(const Rules& rules, int number) {
  const auto* const found =
      std::find_if(rules.begin(), rules.end(), [&](const Rule& rule) { return rule.number == number; });
  return found != rules.end() ? *found : unknown;
}

const Rule& ruleFor(int status, int code) { return code != 0 ? ruleIn(codeRules, code) : ruleIn(statusRules, status); }

}  // namespace

Told toldIn(std::string_view body) {
  boost::system::error_code fault;
  const boost::json::value parsed = boost::json::parse(body, fault);
  const auto* all = fault ? nullptr : parsed.if_object();
  if (all == nullptr) return {0, std::string{body}};
  Told told;
  for (const char* name : {"message", "error"}) {
    const auto* text = all->if_contains(name);
    if (text == nullptr || !text->is_string() || !told.message.empty()) continue;
    told.message = std::string{text->get_string().data(), text->get_string().size()};
  }
  const auto* code = all->if_contains("code");
  if (code == nullptr || !code->is_int64() || told.message.empty()) return told;
  const std::int64_t number = code->get_int64();
  if (number >= 1 && number <= 16) told.code = static_cast<int>(number);
  return told;
}

Verdict verdictOn(int status, std::string_view body) {
  Verdict verdict{toldIn(body)};
  const Rule& rule = ruleFor(status, verdict.told.code);
  verdict.errorClass = rule.errorClass;
  verdict.maybeApplied = rule.maybeApplied;
  return verdict;
}

std::optional<Fault> faultIn(const CallName& call, const Outcome& outcome) {
  if (outcome.has_error()) {
    const CallFault& fault = outcome.error();
    return Fault{{fault.error.errorClass, call.text() + ": " + fault.error.message}, fault.maybeSent};
  }
  const Reply& reply = *outcome;
  if (reply.status == 200) return std::nullopt;
  const Told told = toldIn(reply.body);
  const Rule& rule = ruleFor(reply.status, told.code);
  std::string text = call.text() + ": " + reply.member + " answered " + std::to_string(reply.status);
  if (told.code != 0) text += ", code " + std::to_string(told.code);
  if (!told.message.empty()) text += ": " + inQuotes(told.message);
  if (!rule.advice.empty()) text.append(". ").append(rule.advice);
  return Fault{{rule.errorClass, std::move(text)}, rule.maybeApplied || reply.copiesOut};
}

StoreError notUnderstood(const CallName& call, const std::string& member, const std::string& what) {
  return {transient,
          call.text() + ": " + member + ": " + what + "; check that the endpoint is etcd and nothing answers for it"};
}

}  // namespace tenure::etcd_store
