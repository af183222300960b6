#include "pg_handles.hpp"

#include <string_view>

namespace tenure::postgresql_store {
namespace {

// A server may send whatever it likes.
constexpr std::size_t longestMessage = 1'000;
constexpr std::size_t longestSeverity = 16;
constexpr std::size_t stateLength = 5;

/// Cut at the end of a character.
std::string shortOf(const PGresult* result, int field, std::size_t longest) {
  std::string text = inOneLine(PQresultErrorField(result, field));
  if (text.size() <= longest) return text;
  while (longest > 0 && (static_cast<unsigned char>(text[longest]) & 0xC0U) == 0x80U) --longest;
  return text.substr(0, longest);
}

/// libpq advises to switch verification off where it finds no authorities.
std::string withoutAdvice(std::string text) {
  constexpr std::string_view last = "verification.";
  const auto from = text.find(" Either provide the file");
  const auto end = text.find(last, from);
  return end == std::string::npos ? text : text.erase(from, end + last.size() - from);
}

}  // namespace

ServerError serverErrorOf(const PGresult* result) {
  ServerError serverError{shortOf(result, PG_DIAG_SEVERITY_NONLOCALIZED, longestSeverity),
                          shortOf(result, PG_DIAG_SQLSTATE, stateLength),
                          shortOf(result, PG_DIAG_MESSAGE_PRIMARY, longestMessage)};
  // A pooler's own complaints lack that field. It does not translate the other one.
  if (serverError.severity.empty() && !serverError.sqlState.empty()) {
    serverError.severity = shortOf(result, PG_DIAG_SEVERITY, longestSeverity);
  }
  return serverError;
}

std::string lastErrorOf(const PGconn* connection) { return withoutAdvice(inOneLine(PQerrorMessage(connection))); }

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
