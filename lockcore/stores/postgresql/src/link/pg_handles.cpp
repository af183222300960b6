#include "pg_handles.hpp"

namespace tenure::postgresql_store {
namespace {

std::string fieldOf(const PGresult* result, int field) {
  const char* text = PQresultErrorField(result, field);
  return text == nullptr ? std::string{} : std::string{text};
}

}  // namespace

Complaint complaintOf(const PGresult* result) {
  Complaint complaint{fieldOf(result, PG_DIAG_SEVERITY_NONLOCALIZED), fieldOf(result, PG_DIAG_SQLSTATE),
                      inOneLine(fieldOf(result, PG_DIAG_MESSAGE_PRIMARY).c_str())};
  // A pooler's own complaints lack that field. It does not translate the other one.
  if (complaint.severity.empty() && !complaint.sqlState.empty()) {
    complaint.severity = fieldOf(result, PG_DIAG_SEVERITY);
  }
  return complaint;
}

std::string troubleOf(const PGconn* connection) { return inOneLine(PQerrorMessage(connection)); }

std::string inOneLine(const char* text) {
  std::string line;
  for (; text != nullptr && *text != '\0'; ++text) {
    const auto byte = static_cast<unsigned char>(*text);
    const char c = byte < 0x20 || byte == 0x7F ? ' ' : *text;
    if (c != ' ' || (!line.empty() && line.back() != ' ')) line.push_back(c);
  }
  while (!line.empty() && line.back() == ' ') line.pop_back();
  return line;
}

JobReply::Cause causeOf(const std::string& sqlState) noexcept {
  if (sqlState.starts_with("28") || sqlState == "42501") return JobReply::Cause::credentials;
  if (sqlState == "3D000") return JobReply::Cause::misconfigured;
  return JobReply::Cause::transient;
}

}  // namespace tenure::postgresql_store
