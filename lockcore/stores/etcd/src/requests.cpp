#include "requests.hpp"

#include "keys.hpp"
#include "lockcore/port/json_text.hpp"

namespace tenure::etcd_store {
namespace {

void appendBytes(std::string& out, std::string_view opening, std::string_view bytes) {
  out += opening;
  appendBase64(out, bytes);
  out += '"';
}

/// 64-bit numbers are texts.
void appendNumber(std::string& out, std::string_view opening, std::int64_t number) {
  out += opening;
  appendInteger(out, number);
  out += '"';
}

std::string& next(std::string& list) {
  if (!list.empty()) list += ',';
  return list;
}

void appendRange(std::string& list, std::string_view key) {
  appendBytes(next(list), R"({"request_range":{"key":")", key);
}

void appendRange(std::string& list, std::string_view first, std::string_view end, std::size_t most) {
  appendRange(list, first);
  appendBytes(list, R"(,"range_end":")", end);
  appendNumber(list, R"(,"limit":")", static_cast<std::int64_t>(most));
  list += "}}";
}

}  // namespace

void Txn::require(std::string_view key, std::int64_t revision) {
  appendBytes(next(compares_), R"({"result":"EQUAL","target":"MOD","key":")", key);
  appendNumber(compares_, R"(,"mod_revision":")", revision);
  compares_ += '}';
}

void Txn::requireValue(std::string_view key, std::string_view value) {
  appendBytes(next(compares_), R"({"result":"EQUAL","target":"VALUE","key":")", key);
  appendBytes(compares_, R"(,"value":")", value);
  compares_ += '}';
}

void Txn::put(std::string_view key, std::string_view value) {
  appendBytes(next(done_), R"({"request_put":{"key":")", key);
  appendBytes(done_, R"(,"value":")", value);
  done_ += "}}";
}

void Txn::erase(std::string_view key) {
  appendBytes(next(done_), R"({"request_delete_range":{"key":")", key);
  done_ += "}}";
}

void Txn::read(std::string_view key, std::int64_t revision) {
  appendRange(done_, key);
  if (revision != 0) appendNumber(done_, R"(,"revision":")", revision);
  done_ += "}}";
}

void Txn::readRange(std::string_view first, std::string_view end, std::size_t most) {
  appendRange(done_, first, end, most);
}

void Txn::elseRead(std::string_view key) {
  appendRange(else_, key);
  else_ += "}}";
}

void Txn::elseReadRange(std::string_view first, std::string_view end, std::size_t most) {
  appendRange(else_, first, end, most);
}

std::string Txn::body() const {
  std::string out;
  out.reserve(compares_.size() + done_.size() + else_.size() + 64);
  out += '{';
  if (!compares_.empty()) out.append(R"("compare":[)").append(compares_).append("],");
  out.append(R"("success":[)").append(done_) += ']';
  if (!else_.empty()) out.append(R"(,"failure":[)").append(else_) += ']';
  return out += '}';
}

std::string probeOfWrites(const std::string& records, const std::string& counters) {
  constexpr std::int64_t never = -1;
  Txn txn;
  txn.require(counters, never);
  txn.put(records, {});
  txn.put(counters, {});
  txn.elseReadRange(records, endOf(records), 1);
  return txn.body();
}

std::string watchRequest(const std::string& prefix) {
  std::string out;
  appendBytes(out, R"({"create_request":{"key":")", prefix);
  appendBytes(out, R"(,"range_end":")", endOf(prefix));
  // Servers that are set to tell their progress often keep an idle watch from being taken for a dead one.
  return out += R"(,"progress_notify":true}})";
}

}  // namespace tenure::etcd_store
