#include "zone.hpp"

#include <atomic>
#include <cstdlib>
#include <list>
#include <mutex>
#include <utility>

#include "lockcore/port/quoted_text.hpp"

namespace tenure {
namespace {

std::string folder() {
  const char* named = ::secure_getenv("TZDIR");  // NOLINT(concurrency-mt-unsafe): glibc does the same
  return named != nullptr && *named != '\0' ? named : "/usr/share/zoneinfo";
}

/// Not absolute, without "..", in the one spelling of its file.
bool isName(const std::string& name) {
  const std::string path = '/' + name + '/';
  return path.find('\0') == std::string::npos && path.find("//") == std::string::npos &&
         path.find("/./") == std::string::npos && path.find("/../") == std::string::npos;
}

}  // namespace

class Zone::File {
 public:
  /// Empty path: UTC.
  explicit File(std::string path) : path_{std::move(path)} {
    if (path_.empty()) now_ = &versions_.emplace_back(ZoneData::utc());
  }

  /// The rejection begins with the path.
  [[nodiscard]] boost::system::result<void, FileError> read() {
    constexpr std::size_t longest = 64 << 10U;
    const FileStamp stamp = stampOf(path_);
    auto text = regularFile(path_, longest);
    if (!text) return FileError{path_ + ' ' + text.error().why};
    if (now_ == nullptr || *text != text_) {
      auto data = ZoneData::in(*text);
      if (!data) return FileError{path_ + ' ' + data.error().why};
      now_ = &versions_.emplace_back(*std::move(data));
      text_ = *std::move(text);
    }
    stamp_ = stamp;
    return {boost::system::in_place_value};
  }

  /// Never waits, so that a fork while another thread reads leaves the child with what was read last.
  [[nodiscard]] const ZoneData& data() {
    if (const std::unique_lock lock{mutex_, std::try_to_lock}; lock && !path_.empty() && stampOf(path_) != stamp_)
      static_cast<void>(read());
    return *now_;
  }

 private:
  const std::string path_;
  std::mutex mutex_;  ///< guards what follows, apart from now_
  std::string text_;
  FileStamp stamp_{};
  std::list<ZoneData> versions_;  ///< all that were ever read, because one may be in use
  std::atomic<const ZoneData*> now_{nullptr};
};

boost::system::result<Zone, OptionFaults> Zone::named(const std::string& name) {
  if (name == "UTC") return Zone{std::make_shared<File>("")};
  const auto refused = [&](const std::string& why) {
    return OptionFaults{{"timeZone", inQuotes(name) + " cannot be used: " + why +
                                         "; write a name such as Europe/Berlin or UTC, and see that the time-zone data "
                                         "of the system are installed (Debian: tzdata; old names: tzdata-legacy)"}};
  };
  if (!isName(name)) return refused("it is not the name of a zone");
  auto file = std::make_shared<File>(folder() + '/' + name);
  if (const auto done = file->read(); !done) return refused(done.error().why);
  return Zone{std::move(file)};
}

const ZoneData& Zone::data() const { return file_->data(); }

}  // namespace tenure
