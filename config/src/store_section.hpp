// Builds a row of the stores from parts that know the store's own options only.
#pragma once

#include <string>
#include <utility>
#include <variant>

#include "store_types.hpp"

namespace tenure::config {

template <typename Options>
class StoreSection {
 public:
  StoreSection(std::string name, std::string about) {
    row_.name = std::move(name);
    row_.about = std::move(about);
    row_.defaults = Options{};
    row_.faults = [](const StoreConfig& store) { return faultsOf(std::get<Options>(store)); };
  }

  /// `access` gives the field (a T or an optional<T>) of Options, const or not.
  template <typename T, typename Access>
  KeySpec& key(KeyText text, Codec<T> codec, Access access) {
    row_.keys.push_back(keySpec<T>(
        std::move(text),
        std::move(codec), [access](auto& config) -> auto& { return access(std::get<Options>(config.store)); }));
    return row_.keys.back();
  }

  template <typename T, typename Access>
  KeySpec& requiredKey(KeyText text, Codec<T> codec, Access access) {
    KeySpec& spec = key(std::move(text), std::move(codec), access);
    spec.key.required = true;
    return spec;
  }

  /// A text that may be left out: then the `derived` words say what counts, also as the fallback unless the key has one
  /// of its own. `word` is KeySpec's.
  KeySpec& textKey(KeyText text, const std::string& allowed, std::string Options::*field, const std::string& derived,
                   const std::string& word = {}) {
    if (text.fallback.empty()) text.fallback = derived;
    KeySpec& spec = key(
        std::move(text), textCodec(allowed), [field](auto& options) -> auto& { return options.*field; });
    spec.derived = [derived](const GroupConfig&) { return derived; };
    spec.word = word;
    return spec;
  }

  /// The same for the path of a file with a password, a key or a token.
  KeySpec& secretKey(KeyText text, std::string Options::*field, const std::string& derived,
                     const std::string& word = {}) {
    row_.secrets.push_back([what = text.path, field](const StoreConfig& store) {
      return NamedPath{what, std::get<Options>(store).*field};
    });
    return textKey(std::move(text), "the path of a file", field, derived, word);
  }

  /// The lines of the store section in the file of `tenure init`: comments, `store:` and its keys.
  void hasSample(std::string lines) { row_.sample = std::move(lines); }

  /// `sql` gives what an administrator runs, from Options and a role.
  void schemaBy(auto sql) { row_.schemaSql = withOptions(sql); }

  /// `read` gives a StoreStatus from Options.
  void filesBy(auto read) { row_.readFiles = withOptions(read); }

  /// `look` gives a FileAccess from Options.
  void accessBy(auto look) { row_.access = withOptions(look); }

  /// `directory` gives a NamedPath of Options.
  void keepsFilesIn(auto directory) { row_.directory = withOptions(directory); }

  /// `ask` gives ServerFacts of Options.
  void serverBy(auto ask) { row_.server = withOptions(ask); }

  void isBuiltOn(LibraryVersion library) { row_.library = std::move(library); }

  /// `why` gives a text of Options.
  void forgetsIf(auto why) { row_.whyForgets = withOptions(why); }

  /// `rule` gives a CommitRule of Options.
  void commitsBy(auto rule) { row_.commits = withOptions(rule); }

  /// `resolve` makes relative paths of Options relative to a directory.
  void pathsBy(auto resolve) { row_.resolvePaths = withOptions(resolve); }

  [[nodiscard]] StoreType madeBy(auto make) {
    row_.make = withOptions(make);
    return std::move(row_);
  }

  void isOfOneProcess() { row_.ofOneProcess = true; }

 private:
  /// A function of a store section, which hands its Options to `call`.
  static auto withOptions(auto call) {
    return [call](auto& store, auto&&... more) {
      return call(std::get<Options>(store), std::forward<decltype(more)>(more)...);
    };
  }

  StoreType row_;
};

}  // namespace tenure::config
