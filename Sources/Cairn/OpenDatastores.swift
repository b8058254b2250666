internal import CairnMerge

/// The open datastores of a manager, sorted by id.
///
/// Not a dictionary: see `DeviceContexts` for what the first one costs whoever opens a datastore.
struct OpenDatastores {
  private(set) var values: [Datastore] = []

  subscript(id: String) -> Datastore? {
    get {
      let index = values.partitionPoint { $0.id < id }
      return index < values.count && values[index].id == id ? values[index] : nil
    }
    set {
      let index = values.partitionPoint { $0.id < id }
      let isKnown = index < values.count && values[index].id == id
      switch (isKnown, newValue) {
      case (true, let datastore?): values[index] = datastore
      case (true, nil): values.remove(at: index)
      case (false, let datastore?): values.insert(datastore, at: index)
      case (false, nil): break
      }
    }
  }
}
