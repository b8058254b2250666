/// A folder of which it is noted whether it answers.
struct ObservedFolder: Folder {
  let base: any Folder
  let condition: ExchangeCondition

  func list(_ directory: String) async throws(CairnError) -> [FolderEntry] {
    do throws(CairnError) { return note(try await base.list(directory)) } catch {
      throw note(error)
    }
  }

  func read(_ path: String, limit: Int) async throws(CairnError) -> [UInt8]? {
    do throws(CairnError) { return note(try await base.read(path, limit: limit)) } catch {
      throw note(error)
    }
  }

  func write(_ path: String, _ bytes: [UInt8]) async throws(CairnError) -> FolderEntry {
    do throws(CairnError) { return note(try await base.write(path, bytes)) } catch {
      throw note(error)
    }
  }

  func remove(_ path: String) async throws(CairnError) {
    do throws(CairnError) { note(try await base.remove(path)) } catch { throw note(error) }
  }

  func read(
    _ path: String, from offset: UInt64, _ body: ([UInt8]) throws(CairnError) -> Void
  ) async throws(CairnError) -> Bool {
    do throws(CairnError) { return note(try await base.read(path, from: offset, body)) } catch {
      throw note(error)
    }
  }

  func write(
    _ path: String, from source: any FolderSource
  ) async throws(CairnError) -> FolderEntry {
    do throws(CairnError) { return note(try await base.write(path, from: source)) } catch {
      throw note(error)
    }
  }

  var traffic: FolderTraffic? { base.traffic }

  func onStall(_ tell: @escaping @Sendable (_ isStalled: Bool) -> Void) { base.onStall(tell) }

  private func note<R>(_ answer: R) -> R {
    condition.update { $0.isAnswering = true }
    return answer
  }

  private func note(_ error: CairnError) -> CairnError {
    if !ExchangeCondition.saysNothing(error) { condition.update { $0.isAnswering = false } }
    return error
  }
}
