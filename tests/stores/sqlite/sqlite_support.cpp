#include "sqlite_support.hpp"

#include <algorithm>
#include <filesystem>
#include <stdexcept>

namespace tenure::sqlite_test {

Store::Store(const std::string& path, bool crashNotice, Logger logger) {
  calls_.emplace(makeSqliteStore({.path = path, .crashNotice = crashNotice}, std::move(logger)), ledger_);
}

Store::~Store() { close(); }

void Store::close() {
  if (!calls_) return;
  calls_.reset();
  for (const std::string& fault : ledger_->faults()) ADD_FAILURE() << fault;
}

Shell::Shell(const std::string& path) {
  sqlite3* opened = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &opened, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, "unix");
  connection_.reset(opened);
  if (code != SQLITE_OK) throw std::runtime_error{"opening " + path + ": " + sqlite3_errmsg(opened)};
  sqlite3_busy_timeout(opened, 10'000);
}

void Shell::run(const std::string& sql) {
  if (sqlite3_exec(connection_.get(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
    throw std::runtime_error{sql + ": " + sqlite3_errmsg(connection_.get())};
  }
}

std::vector<std::string> Shell::rows(const std::string& sql) {
  std::vector<std::string> out;
  const auto collect = [](void* rows, int count, char** values, char**) {
    std::string line;
    for (int i = 0; i < count; ++i) line += (i == 0 ? "" : "|") + std::string{values[i] == nullptr ? "" : values[i]};
    static_cast<std::vector<std::string>*>(rows)->push_back(line);
    return 0;
  };
  if (sqlite3_exec(connection_.get(), sql.c_str(), collect, &out, nullptr) != SQLITE_OK) {
    throw std::runtime_error{sql + ": " + sqlite3_errmsg(connection_.get())};
  }
  return out;
}

std::string Shell::value(const std::string& sql) {
  const std::vector<std::string> all = rows(sql);
  return all.empty() ? "(no row)" : all.front();
}

StoreError errorOf(const WriteOutcome& outcome) {
  if (const auto* rejected = std::get_if<Rejected>(&outcome)) return rejected->error;
  if (const auto* unknown = std::get_if<Unknown>(&outcome)) return unknown->error;
  ADD_FAILURE() << "no error but " << describe(outcome);
  return {};
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::vector<std::string> filesIn(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator{directory, none})
    names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

std::string sidecarOf(const std::string& database) {
  const std::filesystem::path path{database};
  return path.parent_path() / ('.' + path.filename().string() + ".tenure");
}

void Signal::set() {
  const std::lock_guard lock{mutex_};
  ++count_;
  changed_.notify_all();
}

bool Signal::wait(std::chrono::milliseconds atMost) {
  std::unique_lock lock{mutex_};
  return changed_.wait_for(lock, atMost, [this] { return count_ > 0; });
}

int Signal::count() {
  const std::lock_guard lock{mutex_};
  return count_;
}

}  // namespace tenure::sqlite_test
