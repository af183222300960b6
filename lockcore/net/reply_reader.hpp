// Internal: reads an HTTP/1.1 reply from a stream of bytes. The parser is Beast's; only reply_reader.cpp knows it.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "http_client.hpp"

namespace tenure::net {

class ReplyReader {
 public:
  enum class State { more, done, failed };

  ReplyReader();
  ~ReplyReader();
  ReplyReader(const ReplyReader&) = delete;
  ReplyReader& operator=(const ReplyReader&) = delete;

  /// Forgets the last reply and expects one new reply. `hasNoBody`: it has none, whatever its headers say (HEAD,
  /// CONNECT).
  void expect(bool hasNoBody, std::size_t most);

  /// The same for a reply whose body, with status 2xx, is taken part by part. `most`: of a head, of a chunk's head, and
  /// of any other reply.
  void expectStream(std::size_t most);

  /// Interim replies (100 to 199) are skipped. A failure is final until expect().
  [[nodiscard]] State feed(std::string_view bytes);
  /// The stream has ended: `done` if the reply ends with it, else `failed`.
  [[nodiscard]] State end();

  /// Whether the reply's head has come, and its body is taken part by part.
  [[nodiscard]] bool streams() const;
  /// What has come of the body since the last part.
  [[nodiscard]] std::string takePart();

  // After `done`:
  [[nodiscard]] HttpResponse take();
  /// Whether another request may follow: the peer keeps the connection and has sent nothing beyond the reply.
  [[nodiscard]] bool mayGoOn() const;

  // After `failed`:
  [[nodiscard]] HttpError::Kind failure() const;
  [[nodiscard]] const std::string& why() const;

  /// How many bytes of the reply have arrived.
  [[nodiscard]] std::size_t received() const;

 private:
  class Parser;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tenure::net
