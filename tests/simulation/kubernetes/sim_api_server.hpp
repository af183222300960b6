// What an API server of Kubernetes does with the requests of the store, in memory: Leases of one namespace, listings,
// watches. It judges as the real one was seen to, also where that surprises: a PUT creates an object that is gone,
// whatever resourceVersion it names; fields that are not known are dropped without a word.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <boost/json/object.hpp>

namespace tenure::test {

struct ApiAnswer {
  int status{200};
  std::string body{};
};

/// Not thread-safe.
class ApiServer {
 public:
  using Lease = std::shared_ptr<const boost::json::object>;
  using Leases = std::map<std::string, Lease>;  ///< by name

  /// The path is that of the Leases of this namespace, or the question for the user's rights.
  explicit ApiServer(std::string inNamespace = "default") : namespace_{std::move(inNamespace)} {}

  [[nodiscard]] ApiAnswer handle(const std::string& method, const std::string& target, const std::string& body);

  /// The lines go to `line` until the number is given back. What has happened since the resourceVersion of the target
  /// comes at once.
  std::uint64_t watch(const std::string& target, std::function<void(std::string)> line);
  void unwatch(std::uint64_t watch) { watches_.erase(watch); }
  /// Sends a bookmark to every watch.
  void bookmark();
  /// Forgets what happened until now: watches and pages that begin before are gone.
  void forgetHistory();

  /// As others do with kubectl or client-go. Nothing happens to a Lease that is not there.
  void edit(const std::string& name, const std::function<void(boost::json::object& lease)>& change);
  void erase(const std::string& name);

  /// What the server answers to the question for rights.
  void setVerbs(std::string verbs, bool incomplete) {
    verbs_ = std::move(verbs);
    incomplete_ = incomplete;
  }

  [[nodiscard]] const Leases& leases() const noexcept { return leases_; }
  [[nodiscard]] std::uint64_t revision() const noexcept { return revision_; }

  /// A rejection as the server writes it.
  [[nodiscard]] static ApiAnswer failure(int status, const std::string& reason, const std::string& message,
                                         const std::string& name = {}, const std::string& kind = "leases");

 private:
  struct Selection {
    std::string name{};
    std::string label{};
    std::string value{};
    [[nodiscard]] bool takes(const std::string& name, const boost::json::object& lease) const;
  };
  struct Watch {
    Selection selection;
    std::function<void(std::string)> line;
  };
  struct Event {
    std::uint64_t revision;
    std::string name;
    Lease before;  ///< null: it was created
    Lease after;   ///< null: it was deleted
  };

  [[nodiscard]] static Selection selectionIn(const std::string& target);
  [[nodiscard]] ApiAnswer get(const std::string& name) const;
  [[nodiscard]] ApiAnswer list(const std::string& target) const;
  [[nodiscard]] ApiAnswer create(const std::string& body);
  [[nodiscard]] ApiAnswer update(const std::string& name, const std::string& body);
  [[nodiscard]] ApiAnswer rights() const;
  ApiAnswer store(int status, const std::string& name, boost::json::object lease);
  void commit(const std::string& name, Lease after);
  void tell(const Watch& watch, const Event& event) const;

  const std::string namespace_;
  std::uint64_t revision_{10};
  std::uint64_t uids_{0};
  Leases leases_{};
  std::map<std::uint64_t, Leases> past_{};  ///< by revision; the last ones
  std::deque<Event> events_{};              ///< the last ones
  std::uint64_t forgotten_{0};              ///< events up to this revision are not known any more
  std::map<std::uint64_t, Watch> watches_{};
  std::uint64_t lastWatch_{0};
  std::string verbs_{R"("get","create","update","list","watch")"};
  bool incomplete_{false};
};

}  // namespace tenure::test
